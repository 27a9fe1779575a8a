/**
 * Runs one command on all backends of a config, unless `--backend` names one. A list joins the rows of all backends. A change counts on
 * all of them, asks once, and then acts on the backends that have something to do.
 */

import { createInterface } from 'node:readline/promises';
import { backendOf, queuesOn } from '../../../core/kernel/enqueue/backends.ts';
import { watchEveryMs } from '../config/flags.ts';
import type { Command, Input, Plan, Result } from '../definition.ts';
import { CliError, explain, usage } from '../errors.ts';
import { type Column, number, plain, type Ui, type Under } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { firstJobs } from './select-jobs.ts';
import { watchList } from './watch.ts';

/** One backend's part of a command. */
export interface Part {
  readonly name: string;
  readonly input: Input;
}

/** A backend that failed. */
interface Failure {
  readonly backend: string;
  readonly code: string;
  readonly message: string;
}

export async function perform(command: Command, input: Input): Promise<Result> {
  const { would, asks = () => true } = command;
  if (would !== undefined && asks(input)) canAsk(input, would);
  const everyMs = command.watched ? watchEveryMs(input.flags as Parameters<typeof watchEveryMs>[0]) : null;
  if (everyMs === null) return across(command, input);
  return watchList(input, everyMs, (ui) => across(command, { ...input, ui }));
}

async function across(command: Command, input: Input): Promise<Result> {
  const kind = input.flags.watch && !command.watched ? undefined : command.backends;
  const names = kind ? await input.session.several() : [];
  if (names.length === 0) return onOne(command, input);
  const parts = await partsOf(command, input, names);
  const [first] = parts;
  if (kind !== 'each' && parts.length === 1) return onOne(command, first!.input);
  return onEach(command, input, parts, names);
}

async function onOne({ run }: Command, input: Input): Promise<Result> {
  const ready = await run(input);
  if (!isPlan(ready)) return ready;
  if (ready.question && !input.yes) await confirm(input, ready.question, ready.many);
  return ready.act();
}

const isPlan = (ready: Result | Plan): ready is Plan => 'act' in ready;

const on = (input: Input, name: string, args = input.args): Part => ({
  name,
  input: { ...input, args, session: input.session.of(name) },
});

/** Splits the command between the backends. Throws if an id could be on a backend that does not answer. */
export async function partsOf(
  { backends: kind, args, needs }: Pick<Command, 'backends' | 'args' | 'needs'>,
  input: Input,
  names: readonly string[],
): Promise<readonly Part[]> {
  const all = names.map((name) => on(input, name));
  const [given] = input.args;
  if (given !== undefined && kind === 'ids') return homesOfIds(input, names);
  if (given !== undefined && /queue/.test(args[0]!.name)) return homesOfQueues(input, names);
  if (given !== undefined && kind === 'job') {
    const { app } = await input.session.config();
    const job = app.jobs.get(given);
    const home = job && backendOf(app, job);
    return [home !== undefined && names.includes(home) ? on(input, home) : { name: names[0]!, input }];
  }
  const able = await Promise.all(all.map(({ input: { session } }) => !needs || keeps(session, needs)));
  return able.includes(true) ? all.filter((_, i) => able[i]) : all;
}

/** Also `true` for a backend that does not open: the command reports the error. */
const keeps = async (session: Session, needs: NonNullable<Command['needs']>): Promise<boolean> =>
  session.keyless().then(
    ({ stores }) => stores[needs] !== undefined,
    () => true,
  );

/** Assigns each id to the backend that has its record, or to the first backend if none has. */
async function homesOfIds(input: Input, names: readonly string[]): Promise<readonly Part[]> {
  const homes = new Map<string, string[]>();
  const unknown: string[] = [];
  const failures: Failure[] = [];
  for (const given of input.args) {
    let home: string | undefined;
    for (const name of names) {
      try {
        if (!(await hasJob(input.session.of(name), given))) continue;
        home = name;
        break;
      } catch (error) {
        failures.push(failureOf(name, error));
      }
    }
    if (home === undefined) unknown.push(given);
    else homes.set(home, [...(homes.get(home) ?? []), given]);
  }
  const [away] = failures;
  if (unknown.length > 0 && away)
    throw new CliError('INTERNAL', 1, `${away.backend} does not answer, so it may be there: ${away.message}`);
  const [first = ''] = names;
  if (unknown.length > 0) {
    const what = unknown.length === input.args.length ? 'it' : unknown.join(', ');
    input.note(`Note: none of ${names.join(', ')} has a record of ${what}.`);
    homes.set(first, [...(homes.get(first) ?? []), ...unknown]);
  }
  return names.flatMap((name) => (homes.has(name) ? [on(input, name, homes.get(name))] : []));
}

async function hasJob(session: Session, given: string): Promise<boolean> {
  const { records } = (await session.keyless()).stores;
  if (records.recordsDisabled) return false;
  if ((await records.get(given)) !== null) return true;
  return given.length >= 8 && (await firstJobs(records, { idPrefix: given }, 1)).found.length > 0;
}

/** Assigns each queue to the backends that the app declares for it. An undeclared queue goes to the backends where it is found. */
async function homesOfQueues(input: Input, names: readonly string[]): Promise<readonly Part[]> {
  const { app, failover } = await input.session.config();
  const has = (name: string, queue: string) => queuesOn(app, name, failover).includes(queue);
  const homes = new Map<string, string[]>();
  for (const queue of input.args) {
    const declared = names.filter((name) => has(name, queue));
    const found = declared.length > 0 ? declared : await findQueue(input, names, queue);
    for (const name of found) homes.set(name, [...(homes.get(name) ?? []), queue]);
  }
  return names.flatMap((name) => (homes.has(name) ? [on(input, name, homes.get(name))] : []));
}

/** Throws `NOT_FOUND`, or the error of a backend that failed. */
async function findQueue({ session }: Input, names: readonly string[], queue: string): Promise<string[]> {
  const asked = await Promise.allSettled(names.map((name) => session.of(name).queues([queue])));
  const found = names.filter((_, i) => asked[i]!.status === 'fulfilled');
  if (found.length > 0) return found;
  const errors = asked.map((one) => (one as PromiseRejectedResult).reason);
  throw errors.find((error) => !isMissing(error)) ?? errors[0];
}

/** Whether the error only means that this backend lacks the thing: another one may have it. */
const isMissing = (error: unknown): boolean =>
  error instanceof CliError && ['NOT_FOUND', 'UNSUPPORTED'].includes(error.code);

function failureOf(backend: string, error: unknown): Failure {
  const { code, message } = explain(error);
  return { backend, code, message };
}

/** Runs the parts side by side and returns the answers in order. A backend that fails is reported, and the others go on. */
export async function askEach<T extends { readonly name: string }, Answer>(
  parts: readonly T[],
  ask: (part: T, index: number) => Promise<Answer>,
) {
  const answers: { readonly part: T; readonly answer: Answer }[] = [];
  const failures: Failure[] = [];
  const missing: unknown[] = [];
  for (const [i, part] of parts.entries()) {
    try {
      answers.push({ part, answer: await ask(part, i) });
    } catch (error) {
      if (isMissing(error)) missing.push(error);
      else if (explain(error).exit === 1) failures.push(failureOf(part.name, error));
      else throw error;
    }
  }
  if (answers.length === 0 && failures.length === 0) throw missing[0];
  return { answers, failures };
}

/** Notes on stderr. With `--json` the result names them. */
export function tellOf(failures: readonly Failure[] | undefined, input: Pick<Input, 'note'>): void {
  for (const one of failures ?? []) input.note(failuresText([one], { paint: (_, text) => text }));
}

const silent = ['BACKEND', 'INTERNAL'];

export const failuresText = (failures: readonly Failure[], ui: Pick<Ui, 'paint'>): string =>
  failures
    .map(
      ({ backend, code, message }) =>
        `${ui.paint('red', `${backend} ${silent.includes(code) ? 'does not answer' : 'failed'}`)}: ${code}: ${plain(message)}`,
    )
    .join('\n');

async function onEach(
  command: Command,
  input: Input,
  parts: readonly Part[],
  names: readonly string[],
): Promise<Result> {
  const { flags } = input;
  const single =
    flags.after !== undefined ? '--after' : command.would && flags.max !== undefined ? '--max' : '';
  if (single !== '')
    throw usage(
      `${single} needs --backend: ${single === '--max' ? 'the newest jobs can only be found on one backend' : 'a page continues on one backend'}. Name one of ${names.join(', ')}.`,
    );
  const joined = joinTables(input.ui);
  const ready = await askEach(parts, ({ name, input: own }) =>
    command.run({ ...own, ui: joined.uiOf(name) }),
  );
  const plans = ready.answers.flatMap(({ part, answer }) =>
    isPlan(answer) ? [{ name: part.name, answer }] : [],
  );
  await ask(input, plans);
  let isOver = false;
  const done = await askEach(
    ready.answers.map(({ part, answer }) => ({ name: part.name, answer })),
    async ({ answer }): Promise<Result> => {
      if (!isPlan(answer)) return answer;
      if (isOver) return { data: {}, text: 'not begun' };
      const result = await answer.act();
      isOver ||= result.endsAll === true;
      return result;
    },
  );
  const results = done.answers.map(({ part, answer }) => ({ name: part.name, result: answer }));
  const failures = [...ready.failures, ...done.failures];
  const footers = results.flatMap(({ name, result: { text } }) => {
    const rest = joined.withoutTable(text).replaceAll('--after ', `--backend ${name} --after `);
    return rest === '' ? [] : [`${name}: ${rest}`];
  });
  // A watched list stays on one screen.
  const away = flags.watch ? failuresText(failures, input.ui) : '';
  if (!flags.watch) tellOf(failures, input);
  const texts = [joined.tables(), footers.join('\n'), away];
  const exits = results.map(({ result: { exit = 0 } }) => exit);
  const some = command.backends === 'ids' ? 1 : 0;
  return {
    data: { backends: names, ...merged(results), ...(failures.length > 0 && { failures }) },
    text: texts.filter((text) => text !== '').join('\n\n'),
    exit:
      failures.length > 0 || exits.includes(1)
        ? 1
        : exits.every((one) => one === exits[0])
          ? exits[0]!
          : some,
  };
}

/** Asks once for all backends. */
async function ask(
  input: Input,
  plans: readonly { readonly name: string; readonly answer: Plan }[],
): Promise<void> {
  const asking = plans.filter(({ answer }) => answer.question !== null && answer.many > 0);
  if (asking.length === 0 || input.yes) return;
  const many = asking.reduce((sum, { answer }) => sum + answer.many, 0);
  const lines = asking.map(({ name, answer }) => `${name}: ${answer.question}`);
  const all = asking.length > 1 ? [`All of it, ${number(many)} together?`] : [];
  await confirm(input, [...lines, ...all].join('\n'), many);
}

/** Joins the JSON results: each row gets its backend, and counts add up. `next` becomes `hasMore`, because paging needs `--backend`. */
function merged(results: readonly { readonly name: string; readonly result: Result }[]) {
  const all: Record<string, unknown> = {};
  for (const { name, result } of results)
    for (const [key, value] of Object.entries(result.data ?? {})) {
      if (key === 'next') all.hasMore = all.hasMore === true || value !== null;
      else if (key !== 'backend') all[key] = joinedValue(all[key], value, name);
    }
  return all;
}

function joinedValue(before: unknown, value: unknown, backend: string): unknown {
  if (Array.isArray(value))
    return [
      ...((before as unknown[]) ?? []),
      ...value.map((row) => (isObject(row) ? { backend, ...row } : row)),
    ];
  if (isObject(value)) {
    const own = isObject(before) ? before : {};
    const members = Object.entries(value).map(([key, one]) => [key, joinedValue(own[key], one, backend)]);
    return { ...own, ...Object.fromEntries(members) };
  }
  if (typeof value === 'number') return ((before as number | undefined) ?? 0) + value;
  if (typeof value === 'boolean') return before !== false && value;
  return value ?? before ?? null;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface Table {
  readonly backend: string;
  readonly columns: readonly Column<unknown>[];
  readonly under: Under<unknown> | undefined;
}

interface Row {
  readonly of: Table;
  readonly row: unknown;
}

/** Marks the place of a table in the text. No command prints this character. */
const place = '\u0000';

/** Joins the tables of several backends that have the same columns, and adds a column with the backend. */
function joinTables(ui: Ui) {
  /** Rows by the titles of their columns. */
  const kinds = new Map<string, Row[]>();
  return {
    /** A Ui that keeps the tables of this backend for the joined one. */
    uiOf: (backend: string): Ui => ({
      ...ui,
      table(own, columns, under) {
        const of = { backend, columns, under } as unknown as Table;
        const kind = columns.map(({ title }) => title).join('\n');
        const rows = kinds.get(kind) ?? [];
        kinds.set(kind, rows);
        for (const row of own) rows.push({ of, row });
        return place;
      },
    }),
    withoutTable: (text: string): string => text.replaceAll(place, '').trim(),
    /** Empty if no command had a table. */
    tables: (): string => [...kinds.values()].map(joined).filter(Boolean).join('\n\n'),
  };

  function joined(rows: readonly Row[]): string {
    const first = rows[0]?.of;
    if (!first) return '';
    const columns = first.columns.map((column, i): Column<Row> => {
      const own = ({ of }: Row) => of.columns[i]!;
      return {
        ...column,
        value: (row) => own(row).value(row.row),
        style: (row) => own(row).style?.(row.row) ?? null,
      };
    });
    const under: Under<Row> | undefined = first.under && {
      ...first.under,
      text: ({ of, row }) => of.under?.text(row) ?? null,
      style: ({ of, row }) => of.under?.style?.(row) ?? null,
    };
    return ui.table(rows, [{ title: 'backend', value: ({ of }) => of.backend }, ...columns], under);
  }
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
