/** Features that report on jobs: alerts, pings, log lines and metrics. Also isolated jobs. */

import { alert, defineAlerts, sendTo } from '../../../core/features/alerts/index.ts';
import { defineSchedule } from '../../../core/index.ts';
import { each, three, workJob } from './jobs.ts';
import type { Run } from './process.ts';
import type { Sample, Seen } from './sample.ts';

const second = 1_000;

const plainly: Sample['send'] = async (self, round) => ({ jobs: await each(self, three(round)) });

/** Messages received outside, by world. */
const heard = new WeakMap<readonly Run[], string[]>();

function heardBy({ runs }: Pick<Seen, 'runs'>): string[] {
  const known = heard.get(runs) ?? [];
  heard.set(runs, known);
  return known;
}

const countOf = (all: readonly string[], one: string): number => all.filter((other) => other === one).length;

/** Labels of work that was done by a process that was alive at the end. */
const doneIn = ({ runs }: Seen): string[] =>
  runs.filter(({ end, lostAt }) => end === 'done' && lostAt === null).map(({ label }) => label);

/** `testApp` has no worker, which would check alerts and count attempts. */
const hasWorkers = ({ people }: Seen): boolean => people.name !== undefined;

export const alerted: Sample = {
  promises: 'a condition that holds is sent once',
  asksMs: 2 * second,
  parts: (self) => ({
    jobs: [workJob(self)],
    alerts: defineAlerts({
      rules: [alert.custom({ name: 'Always', summary: 'it is so', when: async () => true })],
      to: sendTo((notices) => void heardBy(self).push(...notices.map(({ state }) => state))),
    }),
  }),
  send: plainly,
  check(seen) {
    const count = countOf(heardBy(seen), 'firing');
    const least = hasWorkers(seen) ? 1 : 0;
    return count < least || count > 1 ? [`the alert was sent ${count} times`] : [];
  },
};

export const pinged: Sample = {
  promises: 'a monitor is pinged for each run, and for no end that did not happen',
  parts: (self) => {
    const job = workJob(self);
    const pinging = { name: 'pinged', cron: '0 0 1 12 *', job, payload: { label: 'in december' } };
    return {
      jobs: [job],
      schedules: [defineSchedule({ ...pinging, ping: async (kind) => void heardBy(self).push(kind) })],
    };
  },
  // Like a tick: the time of the schedule is part of the job's key.
  send: async (self, round) => ({
    jobs: await each(self, three(round), (label) => ({
      name: 'pinged',
      idempotencyKey: `schedule:pinged@2026-01-15T12:0${round}:0${label.charCodeAt(0) - 97}.000Z`,
    })),
  }),
  check(seen) {
    const all = heardBy(seen);
    const [starts, successes, failures] = ['start', 'success', 'fail'].map((kind) => countOf(all, kind));
    const done = doneIn(seen);
    return [
      ...(successes! > done.length ? [`${successes} successes were pinged of ${done.length} runs`] : []),
      ...(successes! + failures! < new Set(done).size
        ? [`${successes} successes and ${failures} failures were pinged, and ${done} were done`]
        : []),
      ...(starts! < seen.runs.length ? [`${starts} of ${seen.runs.length} starts were pinged`] : []),
    ];
  },
};

const lineOf = (label: string): string => `begins with ${label}`;

export const logged: Sample = {
  promises: 'a job that is done has the lines of its last attempt',
  parts: (self) => ({
    jobs: [
      workJob(self, {
        async handle(work, ctx) {
          ctx.log(lineOf(work.label));
          await self.work(work, ctx);
        },
      }),
    ],
  }),
  send: plainly,
  async check(seen) {
    const { records } = await seen.people.client.stores.records.page({ max: 100 });
    const labels = new Map(seen.runs.map(({ id, label }) => [id, label]));
    return records
      .filter(({ status }) => status === 'completed')
      .filter(
        ({ id, attempts }) =>
          attempts.at(-1)?.log?.some(({ text }) => text === lineOf(labels.get(id)!)) !== true,
      )
      .map(({ id }) => `${id} is done and has no line`);
  },
};

export const counted: Sample = {
  promises: 'each attempt that was done is counted once',
  // Metrics are written every ten seconds.
  asksMs: 10 * second,
  parts: (self) => ({ jobs: [workJob(self)] }),
  send: plainly,
  async check(seen) {
    if (!hasWorkers(seen)) return [];
    const { all } = await seen.people.client.metrics({ last: 'day' });
    const runs = seen.runs.filter(({ end }) => end === 'done');
    const isAnyDone = doneIn(seen).length > 0;
    return (isAnyDone && all.done === 0) || all.done > runs.length
      ? [`${all.done} are counted, and ${runs.length} were done`]
      : [];
  },
};

/** The handler runs in a thread. Its effect happens outside, where the world can see it. */
export const isolated: Sample = {
  promises: 'a job in a thread is done once',
  isolates: true,
  parts: (self) => ({ jobs: [workJob(self)] }),
  send: plainly,
};
