/** A screen that is drawn again and again in place, and what is typed on it. */

import type { ReadStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import type { Io } from '../io.ts';
import { columnsOf, cutTo } from './width.ts';

const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

export interface Screen {
  /** One write without clearing first, so nothing flickers. Lines that do not fit are cut, and so are those below the last row. */
  draw(lines: readonly string[]): void;
  /** Gives the terminal back as it was, with the last picture on it. */
  end(): void;
}

export interface ScreenListeners {
  /** What one or several keys send. */
  readonly onKeys: (keys: string) => void;
  /** The window has another size. */
  readonly onResize: () => void;
}

export function openScreen(
  io: Pick<Io, 'stdin' | 'stdout' | 'isTTY' | 'columns' | 'rows'>,
  { onKeys, onResize }: ScreenListeners,
): Screen {
  const keys = io.isTTY.stdin ? (io.stdin as ReadStream) : null;
  const onData = (typed: Buffer | string) => onKeys(String(typed));
  keys?.setRawMode?.(true);
  keys?.on('data', onData);
  io.stdout.on('resize', onResize);
  io.stdout.write(enter);
  let last: readonly string[] = [];
  return {
    draw(lines) {
      last = lines.slice(0, io.rows - 1).map((line) => fitting(line, io.columns));
      io.stdout.write(`${home}${last.map((line) => line + clearLine).join('\r\n')}${clearBelow}`);
    },
    end() {
      io.stdout.off('resize', onResize);
      keys?.off('data', onData);
      keys?.setRawMode?.(false);
      keys?.pause();
      io.stdout.write(`${leave}${last.join('\n')}\n`);
    },
  };
}

/** A line that would wrap loses its colours with its end. */
function fitting(line: string, columns: number): string {
  const text = stripVTControlCharacters(line);
  return columnsOf(text) <= columns ? line : cutTo(text, columns);
}
