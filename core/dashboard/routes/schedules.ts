import type { Schedule } from '../../app/schedule.ts';
import type { Client } from '../../enqueue/client.ts';
import { scheduleHistory } from '../../scheduler/history.ts';
import { isPaused } from '../../scheduler/pause.ts';
import type { ScheduleDetail, ScheduleView } from '../api.ts';
import type { Endpoint, Run } from '../call.ts';
import { change } from './change.ts';
import { knownName, unavailable } from './find.ts';

export const listSchedules: Run = async ({ client }) =>
  Promise.all(client.app.schedules.map(async (schedule) => (await lookAt(client, schedule)).view));

const mostNext = 10;
const mostEntries = 50;

export const showSchedule: Run = async ({ client }, { parameter }) => {
  const schedule = scheduleIn(client, parameter);
  const { view, history } = await lookAt(client, schedule);
  const next: number[] = [];
  for (let at = view.nextAt; at !== null && next.length < mostNext; at = await schedule.nextAfter(at))
    next.push(at);
  return {
    ...view,
    next,
    history:
      history ??
      unavailable(
        `Backend "${client.backend.name}" keeps no records of jobs, so nothing is known of earlier runs: give connect() a store.`,
      ),
  } satisfies ScheduleDetail;
};

async function lookAt(client: Client, schedule: Schedule) {
  const { app, stores } = client;
  const { name, job, timing, overlap, missed } = schedule;
  const history = stores.records.keepsNothing
    ? null
    : await scheduleHistory(client, name, { max: mostEntries });
  const paused = history ? history.pausedAt !== null : await isPaused(client, name);
  const last = history?.entries.find((entry) => entry.kind === 'run');
  const [, when = timing, timezone = null] = /^(.*) \(([^()]*)\)$/.exec(timing) ?? [];
  const view: ScheduleView = {
    name,
    job: job.name,
    when,
    timezone,
    overlap,
    missed,
    paused,
    nextAt: paused ? null : await schedule.nextAfter(app.clock.now()),
    last: last ? { id: last.id, dueAt: last.dueAt, status: last.status, slow: last.slow } : null,
  };
  return { view, history };
}

function scheduleIn({ app }: Client, wanted: string): Schedule {
  const names = app.schedules.map(({ name }) => name);
  const name = knownName('schedule', wanted, names);
  return app.schedules.find((one) => one.name === name)!;
}

const nameIn = ({ client }: Endpoint, given: string): string => scheduleIn(client, given).name;

export const runSchedule: Run = change(nameIn, async ({ schedules }, name) => {
  const id = await schedules.run(name);
  return { message: `The job of ${name} is enqueued, beside its own moments.`, id };
});

export const pauseSchedule: Run = change(nameIn, async ({ schedules }, name) => {
  await schedules.pause(name);
  return { message: `${name} is paused: moments that fall due meanwhile are left out.` };
});

export const resumeSchedule: Run = change(nameIn, async ({ schedules }, name) => {
  await schedules.resume(name);
  return { message: `${name} goes on.` };
});
