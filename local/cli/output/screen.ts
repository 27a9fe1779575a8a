/** A screen that is drawn again and again in place, and the keys that end it. */

import type { ReadStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import type { Io } from '../io.ts';

const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';
/** A terminal that passes every key on sends Ctrl-C as a character. */
const ends = ['q', 'Q', '\u0003'];

export interface Screen {
  /** One write without clearing first, so nothing flickers. Lines that do not fit are cut, and so are those below the last row. */
  draw(lines: readonly string[]): void;
  /** Gives the terminal back as it was, with the last picture on it. */
  end(): void;
}

/** @param stop is called for q and Ctrl-C */
export function openScreen(
  io: Pick<Io, 'stdin' | 'stdout' | 'isTTY' | 'columns' | 'rows'>,
  stop: () => void,
): Screen {
  const keys = io.isTTY.stdin ? (io.stdin as ReadStream) : null;
  const onKey = (key: Buffer | string) => {
    if (ends.some((one) => String(key).includes(one))) stop();
  };
  keys?.setRawMode?.(true);
  keys?.on('data', onKey);
  io.stdout.write(enter);
  let last: readonly string[] = [];
  return {
    draw(lines) {
      last = lines.slice(0, io.rows - 1).map((line) => fitting(line, io.columns));
      io.stdout.write(`${home}${last.map((line) => line + clearLine).join('\r\n')}${clearBelow}`);
    },
    end() {
      keys?.off('data', onKey);
      keys?.setRawMode?.(false);
      keys?.pause();
      io.stdout.write(`${leave}${last.join('\n')}\n`);
    },
  };
}

/** A line that would wrap loses its colours with its end. */
function fitting(line: string, columns: number): string {
  const text = stripVTControlCharacters(line);
  return text.length <= columns ? line : `${text.slice(0, columns - 1)}…`;
}
