/** Three ways to watch: a block that is redrawn, sparse lines where there is no terminal, and silence. */

import { createLogUpdate } from 'log-update';
import type { LongshoreEvent } from '../../core/index.ts';
import { grouped, lineOf, printedLine, seconds } from './lines.ts';
import { drawBlock, type Picture } from './picture.ts';

export interface View {
  /** One event, as it happens. */
  event(event: LongshoreEvent, atMs: number): void;
  /** The whole state, some times a second. */
  show(picture: Picture): void;
  /** Something the last line of the block says already; where there is no block it needs a line. */
  note(text: string): void;
  /** Leaves the terminal clean, below whatever was written. */
  end(): void;
}

export const silence: View = { event() {}, show() {}, note() {}, end() {} };

export function liveView(stream: NodeJS.WriteStream): View {
  const update = createLogUpdate(stream);
  return {
    event() {},
    show: (picture) => update(drawBlock(picture, stream.columns, stream.rows)),
    note() {},
    end() {
      update.clear();
      update.done(); // shows the cursor again
    },
  };
}

const plainEveryMs = 1000;

export function plainView(write: (line: string) => void): View {
  let lastAtMs = -plainEveryMs;
  let lastText = '';
  return {
    event(event, atMs) {
      const line = lineOf(event);
      if (line?.notable) write(printedLine(seconds(atMs).padStart(7), line, 160));
    },
    show({ elapsedMs, bars }) {
      const text = bars
        .map(({ label, done, total }) => `${label} ${grouped(done)}/${grouped(total)}`)
        .join('  ');
      if (text === lastText || elapsedMs - lastAtMs < plainEveryMs) return;
      lastAtMs = elapsedMs;
      lastText = text;
      write(`${seconds(elapsedMs).padStart(7)}  ${text}`);
    },
    note: write,
    end() {},
  };
}
