import { isName } from '../../../base/checks.ts';
import { masked } from '../../../base/mask.ts';
import {
  type ScheduleHistory,
  type ScheduleInCode,
  scheduleInCode,
} from '../../../features/schedules/history.ts';
import { showStored } from '../../../features/schedules/stored/show.ts';
import type { Schedule } from '../../../kernel/app/schedule.ts';
import type { StoredScheduleInfo } from '../../../kernel/app/stored-schedule.ts';
import { keepsSchedules } from '../../../kernel/enqueue/backends.ts';
import type { Client } from '../../../kernel/enqueue/client.ts';
import { isStored } from '../../../operations/resources.ts';
import type {
  OfOne,
  Rows,
  ScheduleDetail,
  ScheduleView,
  StoredScheduleList,
  StoredScheduleView,
} from '../api.ts';
import type { Run } from '../call.ts';
import { change } from './change.ts';
import { knownName, missing, pageQuery, queryOf, text, unavailable } from './query.ts';

export const listSchedules: Run = async (endpoint, { visitor }) => {
  const { schedules } = await endpoint.operatorFor(visitor);
  const { schedules: inCode, ...missed } = await schedules.inCode();
  return { rows: inCode.map(viewOf), ...missed } satisfies Rows<ScheduleView>;
};

export const listStored: Run = async (endpoint, { url, visitor }) => {
  const { client } = endpoint;
  const { from = '', max = 100, after } = queryOf(url, { from: text, ...pageQuery });
  if (!keepsSchedules(client))
    return unavailable(
      `Backend "${client.backend.name}" keeps no schedules that are made at run time: give the dashboard and the workers a store, for example sqliteStore().`,
    );
  // `list({ after })` starts behind this name, so a schedule of exactly this name is added in front.
  const first = after === undefined && isName(from) ? await client.schedules.get(from) : null;
  const { schedules: stored } = await endpoint.operatorFor(visitor);
  const { schedules, ...rest } = await stored.list({ max, after: after ?? from });
  const all = first ? [first, ...schedules] : schedules;
  return { schedules: all.map(storedView), ...rest } satisfies StoredScheduleList;
};

const splitTiming = (timing: string): { readonly when: string; readonly timezone: string | null } => {
  const [, when = timing, timezone = null] = /^(.*) \(([^()]*)\)$/.exec(timing) ?? [];
  return { when, timezone };
};

function storedView(info: StoredScheduleInfo): StoredScheduleView {
  const { name, job, timing, overlap, missed, pausedAt, nextAt, context, failure } = info;
  return {
    ...{ name, job, ...splitTiming(timing), overlap, missed, nextAt },
    paused: pausedAt !== null,
    tenantId: context?.tenantId ?? null,
    failure: failure && `${failure.code}: ${failure.message}`,
  };
}

const mostNext = 10;
const mostEntries = 50;

export const showSchedule: Run = async ({ client }, { parameter }) => {
  if (!isInCode(client, parameter)) {
    const stored = await showStoredOne(client, parameter);
    if (stored) return stored;
  }
  const schedule = scheduleIn(client, parameter);
  const { history, ...shown } = await scheduleInCode(client, schedule);
  const view = viewOf({ history, ...shown });
  const next: number[] = [];
  for (let at = view.nextAt; at !== null && next.length < mostNext; at = await schedule.nextAfter(at))
    next.push(at);
  const noRecords = `Backend "${client.backend.name}" keeps no records of jobs, so nothing is known of earlier runs: give connect() a store.`;
  return { ...view, stored: null, next, history: history ?? unavailable(noRecords) } satisfies ScheduleDetail;
};

async function showStoredOne(client: Client, name: string): Promise<ScheduleDetail | null> {
  if (!isName(name)) return null;
  const found = await showStored(client, name, { max: mostEntries, mostNext });
  if (!found) return null;
  const { info, history, next } = found;
  const { tenantId, failure, ...view } = storedView(info);
  const { createdAt, changedAt, payload } = info;
  const noJob = info.failure?.message ?? `The app of this dashboard has no job "${info.job}".`;
  return {
    ...view,
    last: history ? lastOf(history) : null,
    stored: { tenantId, failure, createdAt, changedAt, payload: masked(payload) ?? null },
    next,
    history: history ?? unavailable(noJob),
  };
}

function lastOf({ entries }: ScheduleHistory): ScheduleView['last'] {
  const last = entries.find((entry) => entry.kind === 'run');
  return last ? { id: last.id, dueAt: last.dueAt, status: last.status, slow: last.slow } : null;
}

function viewOf({ timing, history, ...shown }: OfOne<ScheduleInCode>): OfOne<ScheduleView> {
  const paused = history !== null && history.pausedAt !== null;
  return { ...shown, ...splitTiming(timing), paused, last: history && lastOf(history) };
}

function scheduleIn({ app }: Client, wanted: string): Schedule {
  const names = app.schedules.map(({ name }) => name);
  const name = knownName('schedule', wanted, names);
  return app.schedules.find((one) => one.name === name)!;
}

const isInCode = ({ app }: Client, name: string): boolean => app.schedules.some((one) => one.name === name);

/** Only removes schedules that were made at run time. */
export const removeStored: Run = async (endpoint, call) => {
  if (await isStored(endpoint.client, call.parameter)) return change('schedules.remove')(endpoint, call);
  throw missing('schedule made at run time', call.parameter);
};
