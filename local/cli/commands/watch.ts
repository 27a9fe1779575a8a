/** Shared by `--watch` and `top`: refreshes a screen on a terminal, and prints lines elsewhere. */

import type { ReadStream } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import type { Clock } from '../../../core/base/clock.ts';
import { createWaiters } from '../../backends/shared/waiters.ts';
import { within } from '../../waiting.ts';
import type { Input, Result } from '../definition.ts';
import { CliError, explain } from '../errors.ts';
import type { Io } from '../io.ts';
import { columnsOf, createUi, cutTo, number, plain, span, type Ui, wrapped } from '../output/ui.ts';
import { untilStopped } from './until-stopped.ts';

export interface Watched<Picture extends object> {
  look(): Promise<Picture>;
  /** `head` stays at the top, and `body` scrolls under it. `order` is one of `orders`. */
  drawn(picture: Picture, ui: Ui, order: string): { readonly head: readonly string[]; readonly body: string };
  /** The output without a terminal. */
  text(picture: Picture): string;
  /** The output with `--json`. */
  data(picture: Picture): object | null;
  /** The sort orders that the key `s` cycles through. */
  readonly orders?: readonly [string, ...string[]];
}

type Watching = Pick<Input, 'io' | 'json' | 'ui'>;

/** In raw mode a terminal sends Ctrl-C as a character. */
const ends = ['q', 'Q', '\u0003'];
const longestLookMs = 10_000;
/** Number of lines in the head with the keys. */
const ownLines = 1;

/** Ends at q, Ctrl-C and signals. Throws if the first look fails; later failures are shown and retried. */
export async function watch<Picture extends object>(
  { io, json, ui }: Watching,
  everyMs: number,
  watched: Watched<Picture>,
): Promise<Result> {
  let picture: Picture | Error = await inTime(io.clock, watched.look(), null);
  await untilStopped({ io }, async (stopped) => {
    const quit = new AbortController();
    const signal = AbortSignal.any([stopped, quit.signal]);
    const view = createScroller(watched.orders ?? ['']);
    const screen =
      io.isTTY.stdout && !json
        ? openScreen(io, {
            onKeys(keys) {
              if (ends.some((one) => keys.includes(one))) quit.abort();
              else if (view.takes(keys, io.rows)) show();
            },
            onResize: show,
          })
        : null;
    function show(): void {
      if (screen) screen.draw(linesOf(picture, watched, view, { io, ui, everyMs }));
      else if (picture instanceof Error) {
        const { code, message } = explain(picture);
        const error = json ? JSON.stringify({ error: { code, message } }) : `${code}: ${plain(message)}`;
        io.stderr.write(`${error}\n`);
      } else io.stdout.write(`${json ? JSON.stringify(watched.data(picture)) : watched.text(picture)}\n`);
    }
    const waiters = createWaiters(io.clock);
    try {
      for (show(); !signal.aborted; ) {
        await waiters.wait(everyMs, signal);
        if (signal.aborted) break;
        picture = await inTime(io.clock, watched.look(), signal).catch((error: Error) => error);
        if (!signal.aborted) show();
      }
    } finally {
      screen?.end();
    }
  });
  return { data: null, text: '' };
}

/** Watches the output of a list command. */
export const watchList = (
  input: Pick<Input, 'io' | 'json' | 'ui' | 'argv'>,
  everyMs: number,
  list: (ui: Ui) => Promise<Result>,
): Promise<Result> =>
  watch(input, everyMs, {
    look: () => list(uiNow(input)),
    drawn: ({ text }) => ({ head: [], body: text }),
    text: ({ text }) => `${text}\n`,
    data: ({ data }) => data,
  });

/** A Ui with the current width of the window. */
const uiNow = ({ io, ui, json }: Watching): Ui =>
  createUi({ colour: ui.colour, columns: io.isTTY.stdout && !json ? io.columns : null });

/** Limits the time of a look. Rejects at once when the signal aborts, so that a silent server does not delay the exit. */
async function inTime<T>(clock: Clock, looking: Promise<T>, signal: AbortSignal | null): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const late = (): never => {
    throw new CliError('INTERNAL', 1, `no answer within ${span(longestLookMs)}`);
  };
  signal?.addEventListener('abort', reject);
  return within(clock, longestLookMs, Promise.race([looking, promise]), late).finally(() =>
    signal?.removeEventListener('abort', reject),
  );
}

interface Around {
  readonly io: Pick<Io, 'rows' | 'columns' | 'clock'>;
  readonly ui: Ui;
  readonly everyMs: number;
}

function linesOf<Picture extends object>(
  picture: Picture | Error,
  watched: Watched<Picture>,
  view: Scroller,
  { io, ui, everyMs }: Around,
): string[] {
  if (picture instanceof Error) {
    const { code, message } = explain(picture);
    // Wrapped, not cut: the end of the message says what to do.
    const lines = wrapped(plain(`${code}: ${message}`), io.columns);
    return [...lines.map((line) => ui.paint('red', line)), `Looking again every ${span(everyMs)}; q ends.`];
  }
  const { head, body } = watched.drawn(
    picture,
    createUi({ colour: ui.colour, columns: io.columns }),
    view.order,
  );
  const lines = body.split('\n');
  const room = Math.max(1, io.rows - 1 - ownLines - head.length);
  const isLong = lines.length > room;
  const shown = isLong ? Math.max(1, room - 1) : room; // one line shows the position
  view.keepWithin(lines.length - shown);
  const { first } = view;
  const below = lines.length - first - shown;
  const more = isLong
    ? [ui.paint('dim', `lines ${number(first + 1)} to ${number(first + shown)} of ${number(lines.length)}`)]
    : [];
  const keys = [
    'q ends',
    ...(view.isOrdered ? [`s sorts (${view.order})`] : []),
    ...(isLong ? [below > 0 ? '↓ goes on' : '↑ goes back'] : []),
  ];
  const time = new Date(io.clock.now()).toTimeString().slice(0, 8);
  return [
    ui.paint('dim', `${time}  every ${span(everyMs)}, ${keys.join(', ')}`),
    ...head,
    ...lines.slice(first, first + shown),
    ...more,
  ];
}

const enter = '\u001b[?1049h\u001b[?25l';
const leave = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';

export interface Screen {
  /** Draws in one write, without clearing first, so nothing flickers. Cuts lines that are too long, and those below the last row. */
  draw(lines: readonly string[]): void;
  /** Restores the terminal and leaves the last picture on it. */
  end(): void;
}

export interface ScreenListeners {
  /** Called with the characters of one or several keys. */
  readonly onKeys: (keys: string) => void;
  /** Called when the size of the window has changed. */
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

/** Cuts a line that would wrap. It loses its colours. */
function fitting(line: string, columns: number): string {
  const text = stripVTControlCharacters(line);
  return columnsOf(text) <= columns ? line : cutTo(text, columns);
}

export type Scroller = ReturnType<typeof createScroller>;

/** @param orders the sort orders that the key `s` cycles through */
export function createScroller(orders: readonly [string, ...string[]]) {
  let [first, order] = [0, 0];
  return {
    /** Index of the first visible line of the body. */
    get first() {
      return first;
    },
    get order() {
      return orders[order]!;
    },
    isOrdered: orders.length > 1,
    /** `false` = the key has no meaning here. */
    takes(keys: string, rows: number): boolean {
      if (keys === 's' && orders.length > 1) order = (order + 1) % orders.length;
      else {
        const step = stepOf(keys, rows);
        if (step === null) return false;
        first = Math.max(0, first + step);
      }
      return true;
    },
    /** Limits the scroll position. */
    keepWithin(most: number): void {
      first = Math.max(0, Math.min(first, most));
    },
  };
}

/** Number of lines to scroll: arrows, page up and down, home and end, and the keys of vi. `null` = another key. */
function stepOf(keys: string, rows: number): number | null {
  const page = Math.max(1, rows - 8);
  const steps: Readonly<Record<string, number>> = {
    ...{ '\u001b[A': -1, '\u001bOA': -1, k: -1, '\u001b[B': 1, '\u001bOB': 1, j: 1 },
    ...{ '\u001b[5~': -page, '\u001b[6~': page, ' ': page },
    ...{ '\u001b[H': -Infinity, '\u001b[1~': -Infinity, g: -Infinity },
    ...{ '\u001b[F': Infinity, '\u001b[4~': Infinity, G: Infinity },
  };
  return Object.hasOwn(steps, keys) ? steps[keys]! : null;
}
