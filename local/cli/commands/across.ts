/** One command on several backends: it lists what each of them has, or works on the one that has what it was given. */

import { backendOf, queuesOn } from '../../../core/kernel/enqueue/backends.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import type { Command, Input, Result } from '../definition.ts';
import { CliError, explain, usage } from '../errors.ts';
import { joinTables } from '../output/joined-tables.ts';
import { type Failure, failureOf, failuresText } from './each-backend.ts';
import { firstJobs } from './select-jobs.ts';

/** As where there is one backend, unless the config exports several and none is named. */
export async function across(command: Command, input: Input): Promise<Result> {
  const { backends: kind, run } = command;
  if (kind === undefined) return run(input);
  const names = await input.session.several();
  if (names.length === 0) return run(input);
  const on = (name: string): Promise<Result> => run({ ...input, session: input.session.of(name) });
  switch (kind) {
    case 'each':
      return isWatching(input) ? onFirst(command, input, names[0]!) : onEach(command, input, names);
    case 'of-ids':
      return input.args.length === 0 ? onFirst(command, input, names[0]!) : on(await homeOfIds(input, names));
    case 'of-queues':
      return input.args.length === 0
        ? onFirst(command, input, names[0]!)
        : on(await homeOfQueues(input, names));
    case 'of-job': {
      const { app } = await input.session.config();
      const job = app.jobs.get(input.args[0] ?? '');
      const home = job && backendOf(app, job);
      return home !== undefined && names.includes(home) ? on(home) : run(input);
    }
    case 'first':
      return onFirst(command, input, names[0]!);
  }
}

const isWatching = ({ flags }: Input): boolean => Boolean((flags as { readonly watch?: unknown }).watch);

function onFirst({ run }: Command, input: Input, name: string): Promise<Result> {
  input.note(`Note: this is backend "${name}" alone. --backend names another.`);
  return run({ ...input, session: input.session.of(name) });
}

/** Rows of all in one table of each kind. One that does not answer is named, and the others are shown. */
async function onEach({ run }: Command, input: Input, names: readonly string[]): Promise<Result> {
  if ((input.flags as { readonly after?: unknown }).after !== undefined)
    throw usage(
      `Expected --backend beside --after, got none: a list goes on where it has ended on one backend. Name one of ${names.join(', ')}.`,
    );
  const joined = joinTables(input.ui);
  const results: { readonly name: string; readonly result: Result }[] = [];
  const failures: Failure[] = [];
  const missing: unknown[] = [];
  for (const name of names) {
    try {
      const result = await run({ ...input, ui: joined.uiOf(name), session: input.session.of(name) });
      results.push({ name, result });
    } catch (error) {
      // A queue that is asked for is on one of them, and not every backend has everything.
      if (error instanceof CliError && ['NOT_FOUND', 'UNSUPPORTED'].includes(error.code)) missing.push(error);
      else if (explain(error).exit === 1) failures.push(failureOf(name, error));
      else throw error;
    }
  }
  if (results.length === 0 && failures.length === 0) throw missing[0];
  const footers = results.flatMap(({ name, result: { text } }) => {
    const rest = joined.withoutTable(text).replaceAll('--after ', `--backend ${name} --after `);
    return rest === '' ? [] : [`${name}: ${rest}`];
  });
  const parts = [joined.tables(), footers.join('\n'), failuresText(failures, input.ui)];
  const exits = results.map(({ result: { exit = 0 } }) => exit);
  return {
    data: { backends: names, ...mergedData(results), ...(failures.length > 0 && { failures }) },
    text: parts.filter((part) => part !== '').join('\n\n'),
    exit: failures.length > 0 ? 1 : exits.includes(0) ? 0 : (exits[0] ?? 0),
  };
}

/** Rows say which backend they are of; counts add up; where a list goes on is asked of one backend. */
function mergedData(results: readonly { readonly name: string; readonly result: Result }[]) {
  const merged: Record<string, unknown> = {};
  for (const { name, result } of results)
    for (const [key, value] of Object.entries(result.data ?? {})) {
      const before = merged[key];
      if (key === 'next') merged.hasMore = merged.hasMore === true || value !== null;
      else if (Array.isArray(value))
        merged[key] = [...((before as unknown[]) ?? []), ...value.map((row) => ({ backend: name, ...row }))];
      else if (typeof value === 'number') merged[key] = ((before as number) ?? 0) + value;
      else if (typeof value === 'boolean') merged[key] = before !== false && value;
      else merged[key] = value;
    }
  return merged;
}

/** The backend whose records have these jobs; the first one where none has. Throws `USAGE` when several have some. */
async function homeOfIds({ session, args, note }: Input, names: readonly string[]): Promise<string> {
  const homes = new Set<string>();
  const failures: Failure[] = [];
  for (const given of args) {
    for (const name of names) {
      try {
        if (!(await hasJob(await session.of(name).keyless(), given))) continue;
        homes.add(name);
        break;
      } catch (error) {
        failures.push(failureOf(name, error));
      }
    }
  }
  if (homes.size > 1)
    throw usage(
      `Expected jobs of one backend, got those of ${[...homes].join(' and ')}. Give those of each with --backend.`,
    );
  const [home] = homes;
  if (home !== undefined) return home;
  const [away] = failures;
  if (away)
    throw new CliError('INTERNAL', 1, `${away.backend} does not answer, so it may be there: ${away.message}`);
  note(`Note: none of ${names.join(', ')} has a record of it.`);
  return names[0]!;
}

async function hasJob({ stores: { records } }: Client, given: string): Promise<boolean> {
  if (records.recordsDisabled) return false;
  if ((await records.get(given)) !== null) return true;
  if (given.length < 8) return false;
  return (await firstJobs(records, { idPrefix: given }, 1)).found.length > 0;
}

async function homeOfQueues({ session, args }: Input, names: readonly string[]): Promise<string> {
  const { app, failover } = await session.config();
  const homes = names.filter((name) => args.some((queue) => queuesOn(app, name, failover).includes(queue)));
  if (homes.length < 2) return homes[0] ?? names[0]!;
  throw usage(
    `Expected queues of one backend, got those of ${homes.join(' and ')}. Name one of them with --backend.`,
  );
}
