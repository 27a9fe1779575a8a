/** Enqueues the due jobs of schedules created at run time. A tick reads only the schedules that are due. */

import { config, type LongshoreError } from '../../../base/errors.ts';
import { backendError } from '../../../base/failure.ts';
import type { ScheduleStore, StoredSchedule } from '../../../contract/derived/schedules.ts';
import type { App } from '../../../kernel/app/app.ts';
import { eachOf, homeOf } from '../../../kernel/enqueue/backends.ts';
import type { Client } from '../../../kernel/enqueue/client.ts';
import { forEach } from '../../../kit/parallel.ts';
import { enqueueSchedules, tickOne } from '../scheduler.ts';
import { type Definition, definitionOf, jobOf, rowOf, scheduleOf, sealed } from './text.ts';

export { enqueueSchedules };

const pageSize = 200;
/** A tick begins no further page after this time, so that the schedules in code are not late. The next tick continues. */
const longestMs = 30_000;
/** A failed schedule is retried after this pause. It is shorter than the grace of `missed: 'skip'`, so that its time is not lost. */
export const againMs = 30_000;

interface Ticking {
  readonly app: App;
  readonly client: Client;
  /** The client of the backend with the store. */
  readonly home: Client;
  readonly store: ScheduleStore;
  readonly now: number;
}

export async function enqueueStored(app: App, client: Client, at?: number): Promise<string[]> {
  const ids: string[] = [];
  const seen = new Set<ScheduleStore>();
  for (const one of eachOf(client)) {
    const { schedules: store } = one.stores;
    if (!store || seen.has(store)) continue;
    seen.add(store);
    try {
      const now = at ?? (await one.backend.now?.()) ?? app.clock.now();
      ids.push(...(await tickStore({ app, client, home: one, store, now })));
    } catch (cause) {
      const error = backendError('reading the schedules that were made at run time', cause);
      app.events.emit({ type: 'schedule.failed', schedule: `of backend ${one.backend.name}`, error });
    }
  }
  return ids;
}

/** Versions of rows that this process cannot handle, and when it reads them again. The rows stay for processes that can. */
const leftBy = new WeakMap<Client, Map<string, number>>();

function leftIn(home: Client, now: number): Map<string, number> {
  const left = new Map([...(leftBy.get(home) ?? [])].filter(([, again]) => again > now));
  leftBy.set(home, left);
  return left;
}

async function tickStore(it: Ticking): Promise<string[]> {
  const { home, store, now } = it;
  const left = leftIn(home, now);
  const ids: string[] = [];
  const { clock } = it.app;
  for (const until = clock.now() + longestMs; clock.now() < until; ) {
    const most = pageSize + left.size;
    const rows = await store.due(now, most);
    let done = 0;
    await forEach(
      rows.filter(({ version }) => !left.has(version)),
      async (row) => {
        const enqueued = await tickRow(it, row);
        if (!enqueued) return;
        done++;
        if (enqueued === 'left') left.set(row.version, now + againMs);
        else ids.push(...enqueued);
      },
    );
    // Other hosts are ticking the rest.
    if (rows.length < most || done === 0) break;
  }
  return ids;
}

/** `null` = another host is ticking it. */
async function tickRow(it: Ticking, row: StoredSchedule): Promise<string[] | 'left' | null> {
  const { app, store, now } = it;
  const { name } = row;
  let definition: Definition;
  try {
    definition = definitionOf(app, row);
  } catch (cause) {
    announce(it, name, cause);
    return 'left'; // another process may have its key
  }
  const since = definition.failure?.since ?? definition.failure?.at ?? row.nextAt ?? now;
  try {
    const ticked = await enqueueMoments(it, name, definition);
    if (ticked === null || ticked === 'left') return ticked;
    const { failure: _, ...well } = definition;
    await store.write(rowOf(app, name, well, ticked.nextAt), row.version);
    return ticked.ids;
  } catch (cause) {
    const { code, message } = announce(it, name, cause);
    const failure = { at: now, since, code, message };
    const text = sealed(app, name, { ...definition, failure });
    // Another process may have the job, so the schedule stays due.
    const nextAt = code === 'UNKNOWN_JOB' ? row.nextAt : now + againMs;
    await store.write({ name, nextAt, text }, row.version);
    return [];
  }
}

function announce({ app }: Ticking, schedule: string, cause: unknown): LongshoreError {
  const error = backendError(`enqueueing schedule "${schedule}"`, cause);
  app.events.emit({ type: 'schedule.failed', schedule, error });
  return error;
}

async function enqueueMoments({ app, client, now }: Ticking, name: string, definition: Definition) {
  if (app.schedules.some((one) => one.name === name))
    throw config(
      `Schedule "${name}" was created at run time and now also exists in code. The one in code is used: remove the other with client.schedules.remove().`,
    );
  const { failure } = definition;
  if (failure && now < failure.at + againMs && !app.jobs.has(definition.job)) return 'left';
  const job = jobOf(app, name, definition.job);
  const home = homeOf(client, job);
  if (!home) return 'left'; // another process ticks it
  const schedule = scheduleOf(name, definition, job);
  const { since, limit, context } = definition;
  const own = { since, ...(limit && { limit }), ...(context && { context }) };
  const ticked = await tickOne(app, home, schedule, now, own);
  return ticked && { ids: ticked.ids, nextAt: ticked.isOver ? null : await schedule.nextAfter(ticked.at) };
}
