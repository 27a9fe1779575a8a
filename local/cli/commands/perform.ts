/** Runs a command: asks first, refreshes a watched list, and names the backends that did not answer. */

import { createInterface } from 'node:readline/promises';
import type { UnavailableBackend } from '../../../core/base/failure.ts';
import type { OfSeveral } from '../../../core/routing/each.ts';
import { watchEveryMs } from '../config/flags.ts';
import type { Command, Input, Plan, Result } from '../definition.ts';
import { CliError, notFound } from '../errors.ts';
import { plain, type Ui } from '../output/ui.ts';
import { watchList } from './watch.ts';

export async function perform(command: Command, input: Input): Promise<Result> {
  const { would, asks = () => true } = command;
  if (would !== undefined && asks(input)) canAsk(input, would);
  const everyMs = command.watched ? watchEveryMs(input.flags as Parameters<typeof watchEveryMs>[0]) : null;
  if (everyMs === null) return performOnce(command, input);
  return watchList(input, everyMs, (ui) => performOnce(command, { ...input, ui }));
}

async function performOnce({ run }: Command, input: Input): Promise<Result> {
  const ready = await run(input);
  if (!isPlan(ready)) return ready;
  if (ready.question && !input.yes) await confirm(input, ready.question, ready.many);
  return ready.act();
}

const isPlan = (ready: Result | Plan): ready is Plan => 'act' in ready;

/** The members of an input that a list uses. */
export interface Listing extends Pick<Input, 'note' | 'ui'> {
  readonly flags: object;
}

/** The result of a list that may cover several backends. It names a backend that did not answer on stderr, or below a watched list. */
export function listed(
  input: Listing,
  { unavailable, ...data }: OfSeveral & Readonly<Record<string, unknown>>,
  text: string,
): Result {
  if (!unavailable) return { data, text };
  const isWatched = (input.flags as { readonly watch?: boolean }).watch === true;
  if (!isWatched) tellAway(unavailable, input);
  return {
    data: { ...data, unavailable },
    text: isWatched ? `${text}\n\n${awayText(unavailable, input.ui)}` : text,
    exit: 1,
  };
}

export const tellAway = (away: readonly UnavailableBackend[], { note }: Pick<Input, 'note'>): void =>
  note(awayText(away, { paint: (_, text) => text }));

export const awayText = (away: readonly UnavailableBackend[], ui: Pick<Ui, 'paint'>): string =>
  away
    .map(({ backend, code, message }) => {
      const what = code === 'BACKEND' ? 'does not answer' : 'failed';
      return `${ui.paint('red', `${backend} ${what}`)}: ${code}: ${plain(message)}`;
    })
    .join('\n');

/** The error for something that no backend has, of those that answered. */
export function notFoundIn({ unavailable: [away] = [] }: OfSeveral, message: string): CliError {
  if (!away) return notFound(message);
  const { backend, message: reason } = away;
  return new CliError('INTERNAL', 1, `${backend} does not answer, so it may be there: ${reason}`);
}

/** Throws `CONFIRM` without a terminal and without `--yes`. Called before anything is loaded, so that it fails at once. */
export function canAsk({ io, json, yes }: Input, what: string): void {
  if (yes || (io.isTTY.stdin && io.isTTY.stderr && !json)) return;
  throw new CliError('CONFIRM', 2, `This would ${what} for good. Add --yes if that is what you want.`);
}

/** Above this number the user has to type the number, so that a reflex is not enough. */
const mostAnsweredWithYes = 100;

/** Throws `CONFIRM` unless the user confirms. @param many number of things to change */
export async function confirm({ io }: Pick<Input, 'io'>, question: string, many = 1): Promise<void> {
  const [hint, isSure] =
    many > mostAnsweredWithYes
      ? [`Type ${many} to confirm:`, (answer: string) => answer.replace(/\D/g, '') === String(many)]
      : ['[y/N]', (answer: string) => /^y(es)?$/i.test(answer)];
  const terminal = createInterface({ input: io.stdin, output: io.stderr });
  const closed = new Promise<string>((resolve) => terminal.once('close', () => resolve('')));
  try {
    const answer = await Promise.race([terminal.question(`${question} ${hint} `), closed]);
    if (isSure(answer.trim())) return;
  } finally {
    terminal.close();
  }
  throw new CliError('CONFIRM', 1, 'Not confirmed, so nothing was changed.');
}
