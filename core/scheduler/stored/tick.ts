/** Enqueues what the schedules owe that were made at run time. A tick asks the store for those that are due, and looks at no others. */

import type { App } from '../../app/app.ts';
import { config } from '../../base/errors.ts';
import { backendError } from '../../base/failure.ts';
import type { ScheduleStore, StoredSchedule } from '../../contract/schedules.ts';
import type { Client } from '../../enqueue/client.ts';
import { forEach } from '../../kit/parallel.ts';
import { eachOf, homeOf } from '../../routing/belongs.ts';
import { tickOne } from '../scheduler.ts';
import { type Definition, definitionOf, jobOf, rowOf, scheduleOf } from './text.ts';

/** One tick looks at so many at most; the next one goes on. */
const pageSize = 200;
const mostPages = 50;
/** A schedule that failed is in nobody's way for so long. Within the grace of `missed: 'skip'`, so that its moment is not lost. */
export const againMs = 30_000;

interface Ticking {
  readonly app: App;
  readonly client: Client;
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
      ids.push(...(await tickStore({ app, client, store, now })));
    } catch (cause) {
      const error = backendError('reading the schedules that were made at run time', cause);
      app.events.emit({ type: 'schedule.failed', schedule: `of backend ${one.backend.name}`, error });
    }
  }
  return ids;
}

async function tickStore(it: Ticking): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 0; page < mostPages; page++) {
    const rows = await it.store.due(it.now, pageSize);
    let moved = 0;
    await forEach(rows, async (row) => {
      const enqueued = await tickRow(it, row);
      if (!enqueued) return;
      moved++;
      ids.push(...enqueued);
    });
    // Those that did not move are in the hands of other hosts.
    if (rows.length < pageSize || moved === 0) break;
  }
  return ids;
}

/** `null` = another host is at it. */
async function tickRow(it: Ticking, row: StoredSchedule): Promise<string[] | null> {
  const { app, store, now } = it;
  let definition: Definition | null = null;
  try {
    definition = definitionOf(row);
    const ticked = await enqueueMoments(it, row.name, definition);
    if (!ticked) return null;
    const { failure: _, ...well } = definition;
    await store.write(rowOf(row.name, well, ticked.nextAt), row.version);
    return ticked.ids;
  } catch (cause) {
    const error = backendError(`enqueueing schedule "${row.name}"`, cause);
    app.events.emit({ type: 'schedule.failed', schedule: row.name, error });
    const since = definition?.failure?.since ?? definition?.failure?.at ?? row.nextAt ?? now;
    const failure = { at: now, since, code: error.code, message: error.message };
    const again = { name: row.name, nextAt: now + againMs };
    const text = definition ? JSON.stringify({ ...definition, failure }) : row.text;
    await store.write({ ...again, text }, row.version);
    return [];
  }
}

async function enqueueMoments({ app, client, now }: Ticking, name: string, definition: Definition) {
  if (app.schedules.some((one) => one.name === name))
    throw config(
      `Schedule "${name}" was made at run time, and now it is in code, too. The one in code counts: remove the other with client.schedules.remove().`,
    );
  const job = jobOf(app, name, definition.job);
  const home = homeOf(client, job);
  if (!home) return { ids: [], nextAt: now + againMs }; // another process ticks it
  const schedule = scheduleOf(name, definition, job);
  const { since, context } = definition;
  const ticked = await tickOne(app, home, schedule, now, { since, ...(context && { context }) });
  return ticked && { ids: ticked.ids, nextAt: await schedule.nextAfter(ticked.at) };
}
