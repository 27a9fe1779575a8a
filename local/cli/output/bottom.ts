/** One line at the bottom of a terminal that changes while other lines pass above it. */

import type { Io } from '../io.ts';
import { cutTo } from './width.ts';

const erase = '\r\u001b[K';

export interface Bottom {
  /** Empty = no line. */
  show(text: string): void;
  end(): void;
}

/** Until its end all that this process writes on the terminal goes above the line, whoever writes it: handlers print too. */
export function openBottom(
  io: Pick<Io, 'stdout' | 'stderr' | 'isTTY' | 'columns'>,
  paint: (text: string) => string,
): Bottom {
  let shown = '';
  let isFree = true; // nothing else stands in the last line
  const write = io.stdout.write.bind(io.stdout);
  const line = (): string => (shown === '' ? '' : `${paint(cutTo(shown, io.columns - 1))}\r`);
  const undo = [io.stdout, ...(io.isTTY.stderr ? [io.stderr] : [])].map((stream) => above(stream));

  function above(stream: NodeJS.WritableStream): () => void {
    const original = stream.write;
    stream.write = ((chunk: string | Uint8Array, ...more: never[]) => {
      if (isFree && shown !== '') write(erase);
      if (chunk.length > 0) isFree = typeof chunk === 'string' ? chunk.endsWith('\n') : chunk.at(-1) === 10;
      const goesOn = original.call(stream, chunk as string, ...more);
      if (isFree && shown !== '') write(line());
      return goesOn;
    }) as typeof stream.write;
    return () => {
      stream.write = original;
    };
  }

  return {
    show(text) {
      if (text === shown) return;
      const before = isFree && shown !== '' ? erase : '';
      shown = text;
      if (isFree) write(before + line());
    },
    end() {
      this.show('');
      for (const one of undo) one();
    },
  };
}
