/** Implements `client.schedules`. */

import { checkInteger, checkOptions, isName, namePattern, type OptionKinds } from '../../../base/checks.ts';
import { config, LongshoreError, shown } from '../../../base/errors.ts';
import type { ScheduleRow, ScheduleStore, StoredSchedule } from '../../../contract/derived/schedules.ts';
import type { JobContext } from '../../../envelope/envelope.ts';
import type { App } from '../../../kernel/app/app.ts';
import type { Schedule } from '../../../kernel/app/schedule.ts';
import type {
  Schedules,
  StoredScheduleDefinition,
  StoredScheduleInfo,
} from '../../../kernel/app/stored-schedule.ts';
import { isEnd } from '../../../kernel/app/timing.ts';
import { eachOf, homeOf } from '../../../kernel/enqueue/backends.ts';
import type { Client } from '../../../kernel/enqueue/client.ts';
import { checkJob, prepare } from '../../../kernel/enqueue/prepare.ts';
import { pauseSchedule, resumeSchedule } from '../pause.ts';
import { type Definition, definitionOf, hasSameTiming, infoOf, jobOf, rowOf, scheduleOf } from './text.ts';

const kinds = {
  ...{ name: '', cron: '', everyMs: '', timezone: '', job: '', payload: '', overlap: '', missed: '' },
  ...{ until: '', limit: '', context: '' },
} satisfies OptionKinds<StoredScheduleDefinition<unknown>>;

/** Writers of one schedule rarely collide. */
const mostTries = 10;
const mostListed = 1_000;
const longestText = 256;

/** Called with the existing schedule before it is changed; may throw. */
type Guard = (found: StoredScheduleInfo) => void;

/** For callers that may not change every schedule: between their check and the change the name may be taken by another tenant. */
export interface GuardedSchedules extends Omit<Schedules, 'upsert' | 'pause' | 'resume'> {
  upsert(definition: StoredScheduleDefinition<unknown>, guard?: Guard): Promise<StoredScheduleInfo>;
  pause(name: string, guard?: Guard): Promise<boolean>;
  resume(name: string, guard?: Guard): Promise<boolean>;
}

interface Found {
  readonly home: Client;
  readonly store: ScheduleStore;
  readonly row: StoredSchedule;
}

export function storedVerbs(client: Client): GuardedSchedules & Schedules {
  const { app } = client;

  const inCode = (name: string): Schedule | undefined => app.schedules.find((one) => one.name === name);

  function homes(): { readonly home: Client; readonly store: ScheduleStore }[] {
    const all = eachOf(client).flatMap((home) => {
      const { schedules: store } = home.stores;
      return store ? [{ home, store }] : [];
    });
    if (all.length === 0) throw keepsNone(client);
    return all;
  }

  async function find(name: string): Promise<Found | null> {
    if (!isName(name)) throw wrong(`the name of a schedule to match ${namePattern}, got ${shown(name)}`);
    for (const { home, store } of homes()) {
      const row = await store.get(name);
      if (row) return { home, store, row };
    }
    return null;
  }

  /** Reads, decides and writes; repeats after a lost race. `decide` returns `null` for no change. */
  async function change(
    name: string,
    guard: Guard | undefined,
    decide: (found: Found) => Promise<ScheduleRow | null>,
  ): Promise<StoredSchedule | null> {
    for (let tries = 0; tries < mostTries; tries++) {
      const found = await find(name);
      if (!found) throw unknown(name);
      guard?.(infoOf(app, found.row));
      const row = await decide(found);
      if (row === null) return null;
      if (await found.store.write(row, found.row.version)) return found.store.get(name);
    }
    throw lostRaces(name);
  }

  const timeOf = async (home: Client): Promise<number> => (await home.backend.now?.()) ?? app.clock.now();

  async function upsert(
    given: StoredScheduleDefinition<unknown>,
    guard?: Guard,
  ): Promise<StoredScheduleInfo> {
    const { name, job, context } = given ?? {};
    const definition = await checked(given, client);
    if (inCode(name))
      throw wrong(`a name that no schedule in code has, got ${shown(name)}. Change that schedule in code`);
    const home = homeOf(client, job);
    const store = home?.stores.schedules;
    if (!home || !store) throw keepsNone(home ?? client);
    if (definition.overlap === 'skip' && home.stores.records.recordsDisabled)
      throw config(
        `Schedule "${name}" expects records for its overlap: 'skip', and backend "${home.backend.name}" keeps none. Give it a store.`,
      );
    // Prepares the job as a tick will, so that errors are reported now.
    const uploads = home.stores.payloads ? [] : null;
    await prepare(home, {
      job,
      payload: given.payload,
      options: { name, ...(context && { context }) },
      uploads,
    });
    for (let tries = 0; tries < mostTries; tries++) {
      const found = await find(name);
      if (found) guard?.(infoOf(app, found.row));
      if (found && found.home.stores.schedules !== store)
        throw wrong(
          `another name than ${shown(name)}, which a schedule of backend "${found.home.backend.name}" has: remove that first`,
        );
      const now = await timeOf(home);
      const row = await renewed(app, name, definition, job, found?.row ?? null, now);
      if (!(await store.write(row, found?.row.version ?? null))) continue;
      const written = await store.get(name);
      if (written) return infoOf(app, written);
    }
    throw lostRaces(name);
  }

  return {
    upsert: (given: StoredScheduleDefinition<unknown>, guard?: Guard) => upsert(given, guard),

    async get(name) {
      const found = await find(name);
      return found && infoOf(app, found.row);
    },

    async list({ after = '', max = 100 } = {}) {
      if (!Number.isSafeInteger(max) || max < 1 || max > mostListed)
        throw wrong(`max to be an integer from 1 to ${mostListed}, got ${shown(max)}`);
      if (typeof after !== 'string')
        throw wrong(`after to be the next of an earlier page, got ${shown(after)}`);
      const stores = new Set(homes().map(({ store }) => store));
      const parts = await Promise.all([...stores].map((store) => store.list({ after, max: max + 1 })));
      const rows = parts.flat().sort((a, b) => (a.name < b.name ? -1 : 1));
      const schedules = rows.slice(0, max).map((row) => infoOf(app, row));
      return { schedules, next: rows.length > max ? schedules.at(-1)!.name : null };
    },

    async remove(name) {
      const found = await find(name);
      return found ? found.store.remove(name) : false;
    },

    async pause(name, guard?: Guard) {
      if (inCode(name)) return pauseSchedule(client, name);
      const changed = await change(name, guard, async ({ home, row }) => {
        const definition = definitionOf(app, row);
        if (definition.pausedAt !== undefined) return null;
        const now = await timeOf(home);
        return rowOf(app, name, { ...definition, pausedAt: now, changedAt: now }, null);
      });
      return changed !== null;
    },

    async resume(name, guard?: Guard) {
      if (inCode(name)) return resumeSchedule(client, name);
      const changed = await change(name, guard, async ({ home, row }) => {
        const { pausedAt, failure: _, ...definition } = definitionOf(app, row);
        if (pausedAt === undefined) return null;
        const now = await timeOf(home);
        const schedule = scheduleOf(name, definition, jobOf(app, name, definition.job));
        return rowOf(app, name, { ...definition, since: now, changedAt: now }, await schedule.nextAfter(now));
      });
      return changed !== null;
    },

    async runNow(name) {
      const schedule: Schedule & { readonly context?: JobContext } = inCode(name) ?? (await stored(name));
      const { job, payload, context } = schedule;
      // Not the key of a due time, so that the regular job is still enqueued.
      const idempotencyKey = `schedule-run:${name}@${app.newId()}`;
      const { id } = await client.enqueue(job, payload, {
        idempotencyKey,
        name,
        ...(context && { context }),
      });
      return id;
    },
  };

  async function stored(name: string): Promise<Schedule & { readonly context?: JobContext }> {
    const found = await find(name);
    if (!found) throw unknown(name);
    const definition = definitionOf(app, found.row);
    const { context } = definition;
    const schedule = scheduleOf(name, definition, jobOf(app, name, definition.job));
    return { ...schedule, ...(context && { context }) };
  }
}

/** The definition without members that depend on the time. */
type Said = Omit<Definition, 'createdAt' | 'changedAt' | 'since' | 'pausedAt' | 'failure'>;

/** Throws `OPTION` for an invalid schedule, and `UNKNOWN_JOB`. */
async function checked(given: StoredScheduleDefinition<unknown>, client: Client): Promise<Said> {
  try {
    if (typeof given !== 'object' || given === null)
      throw wrong(`a schedule like { name, cron, job, payload }, got ${shown(given)}`);
    const { name, cron, everyMs, timezone, job, payload, until, limit, context } = given;
    if (!isName(name)) throw wrong(`the name of a schedule to match ${namePattern}, got ${shown(name)}`);
    checkOptions(`schedule "${name}"`, given, kinds);
    for (const [what, text] of Object.entries({ cron, timezone }))
      if (text !== undefined && (typeof text !== 'string' || text.length > longestText))
        throw wrong(
          `${what} of schedule "${name}" to be a text of at most ${longestText} characters, got ${shown(text)}`,
        );
    if (everyMs !== undefined) checkInteger(`everyMs of schedule "${name}"`, everyMs, 1_000);
    checkPolicy(name, 'overlap', given.overlap, ['skip', 'allow']);
    checkPolicy(name, 'missed', given.missed, ['skip', 'one', 'all']);
    if (until !== undefined && !isEnd(until))
      throw wrong(`until of schedule "${name}" to be a Date, got ${shown(until)}`);
    if (limit !== undefined) checkInteger(`limit of schedule "${name}"`, limit, 1);
    checkJob(client, job);
    const { job: _, until: __, ...timing } = given;
    const end = until && { until: until.getTime() };
    const { overlap, missed, nextAfter } = scheduleOf(name, { ...timing, ...end }, job);
    await nextAfter(client.app.clock.now());
    return {
      ...(cron !== undefined && { cron }),
      ...(everyMs !== undefined && { everyMs }),
      ...(timezone !== undefined && { timezone }),
      ...(payload !== undefined && { payload }),
      ...end,
      ...(limit !== undefined && { limit }),
      ...(context !== undefined && { context }),
      ...{ job: job.name, overlap, missed },
    };
  } catch (error) {
    // A wrong definition in code is `CONFIG`; here it comes from a caller.
    if (error instanceof LongshoreError && error.code === 'CONFIG')
      throw new LongshoreError('OPTION', error.message, { cause: error });
    throw error;
  }
}

function checkPolicy(name: string, what: string, value: unknown, all: readonly string[]): void {
  if (value !== undefined && !all.includes(value as string))
    throw wrong(`${what} of schedule "${name}" to be one of ${all.join(', ')}, got ${shown(value)}`);
}

/** Replaces the row of a definition. With the same timing the due times continue, if the old row verifies. */
async function renewed(
  app: App,
  name: string,
  said: Said,
  job: StoredScheduleDefinition<unknown>['job'],
  row: StoredSchedule | null,
  now: number,
): Promise<ScheduleRow> {
  const before = row && believed(app, row);
  const goesOn = before !== null && hasSameTiming(before, said);
  const { pausedAt } = before ?? {};
  const definition: Definition = {
    ...said,
    createdAt: before?.createdAt ?? now,
    changedAt: now,
    since: goesOn ? before.since : now,
    ...(pausedAt !== undefined && { pausedAt }),
  };
  if (pausedAt !== undefined) return rowOf(app, name, definition, null);
  // A schedule that has ended may go on with another end.
  const nextAt = (goesOn ? row!.nextAt : null) ?? (await scheduleOf(name, definition, job).nextAfter(now));
  return rowOf(app, name, definition, nextAt);
}

function believed(app: App, row: StoredSchedule): Definition | null {
  try {
    return definitionOf(app, row);
  } catch {
    return null;
  }
}

const keepsNone = ({ backend }: Client): LongshoreError =>
  config(
    `Backend "${backend.name}" keeps no schedules that are made at run time: give it a store that does, for example sqliteStore().`,
  );

const wrong = (expected: string): LongshoreError => new LongshoreError('OPTION', `Expected ${expected}.`);

const unknown = (name: string): LongshoreError =>
  new LongshoreError(
    'NOT_FOUND',
    `Expected the name of a schedule, got ${shown(name)}. client.schedules.list() lists those created at run time.`,
  );

const lostRaces = (name: string): LongshoreError =>
  new LongshoreError(
    'CONFLICT',
    `Expected to write schedule "${name}", lost ${mostTries} races with other writers. Try again.`,
  );
