/** Makes commands from the records of operations, which have the summary, the texts, the errors and the audit entry. */

import { outcomeOf, textOf } from '../../../core/operations/operation.ts';
import { type ChangeName, changeNamed, perform } from '../../../core/operations/operator.ts';
import type { Operator } from '../../../core/operations/types.ts';
import { id, name } from '../config/values.ts';
import { type Argument, type Command, type Definition, defineCommand, type Result } from '../definition.ts';
import type { ExitCode } from '../errors.ts';
import { count, plain } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { wholeIds } from './select-jobs.ts';

interface Target<Found> {
  readonly target: string;
  readonly found: Found;
  /** The name to print. @default target */
  readonly shown?: string;
}

interface Change<Found> extends Pick<Definition<never>, 'path' | 'about' | 'exits'> {
  /** The argument in the example. */
  readonly example: string;
  /** @default a name, with the record's description */
  readonly arg?: Partial<Argument>;
  /** Finds the target of the argument. Throws `NOT_FOUND`. */
  find(session: Session, given: string): Promise<Target<Found>>;
  /** The question to confirm. Without it the command does not ask. */
  question?(found: Found, target: string): { readonly many: number; readonly text: string };
  /** The result for `--json`. */
  data(target: string, result: unknown, found: Found): Readonly<Record<string, unknown>>;
  /** A hint for the next step. */
  next?(target: string): string;
}

export const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** Changes whose result is the id of a new job. */
const enqueues: readonly ChangeName[] = ['jobs.runAgain', 'schedules.run'];

export function change<Found>(
  record: ChangeName,
  { example, arg, find, question, data, next, exits, ...more }: Change<Found>,
): Command {
  const { summary, subject, action } = changeNamed(record);
  const verb = action.split('.')[1]!;
  return defineCommand({
    ...more,
    ...(question && { would: `${verb} a ${subject!.noun}` }),
    summary: lower(summary),
    args: [{ name: `<${subject!.noun}>`, text: subject!.text, parse: name, ...arg }],
    examples: [`longshore ${more.path} ${example}${question ? ' --yes' : ''}`],
    exits: { 3: `there is no such ${subject!.noun}`, ...exits },
    async run({ args: [given = ''], session }) {
      const { target, found, shown = target } = await find(session, given);
      const act = async (): Promise<Result> => {
        const { result, text } = await perform(await session.operator(), record, target);
        const made = enqueues.includes(record) ? String(result) : shown;
        const about = text.includes(made) ? '' : `${plain(made)}  `;
        const hint = next ? ` ${next(target)}` : '';
        return { data: data(target, result, found), text: `${about}${plain(text)}${hint}` };
      };
      if (!question) return act();
      const { many, text } = question(found, target);
      return { many, question: text, act };
    },
  });
}

/** 0 = all were done, 1 = some, 3 = none. */
export const exitFor = (done: number, asked: number): ExitCode => (done === asked ? 0 : done === 0 ? 3 : 1);

/** A command that changes each of the jobs with these ids. @param done a participle, like `cancelled` */
export function changeJobs(
  method: 'cancel' | 'promote' | 'remove',
  done: string,
  about: string,
  exits: Partial<Record<ExitCode, string>>,
): Command {
  const record = changeNamed(`jobs.${method}`);
  return defineCommand({
    path: `jobs ${method}`,
    summary: lower(record.summary),
    about,
    args: [{ name: '<id...>', text: 'ids of jobs, or their first characters', parse: id }],
    examples: [`longshore jobs ${method} 0199a1b2-c3d4-7e5f`],
    exits: { 3: `none of the jobs could be ${done}`, ...exits },
    async run({ args, session }) {
      const ids = await wholeIds(session, args);
      const results: Awaited<ReturnType<Operator['jobs'][typeof method]>> = await (
        await session.operator()
      ).jobs[method](ids);
      const entries = Object.entries(results);
      const hits = entries.filter(([, one]) => ['done', 'later'].includes(outcomeOf(one))).length;
      const lines = entries.map(([one, result]) =>
        result === 'unknown'
          ? `${one}  is unknown, or its record has been deleted`
          : `${one}  ${textOf(record, result, one)}`,
      );
      return {
        data: { [done]: hits, results },
        text: [...lines, `${count(hits, 'job')} ${done}.`].join('\n'),
        exit: exitFor(hits, entries.length),
      };
    },
  });
}
