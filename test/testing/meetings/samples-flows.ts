/** Features of several jobs, and of jobs that resume. */

import type { HandlerContext, Job } from '../../../core/index.ts';
import type { BatchSummary } from '../../../core/kernel/app/batch.ts';
import { atOnce, each, inTx, jobOf, named, queue, three, workJob } from './jobs.ts';
import { type Process, poison, type Work } from './process.ts';
import type { Fate, Sample, Seen, Sent } from './sample.ts';

const second = 1_000;
const minute = 60 * second;

const calls = ['success', 'failure', 'complete'] as const;

const callJobs = (self: Process): Job<BatchSummary>[] =>
  calls.map((name) =>
    jobOf<BatchSummary>(self, name, (summary, ctx) => self.work({ label: `${name}.${summary.name}` }, ctx)),
  );

const callsOf = (self: Process) => ({
  onSuccess: named<BatchSummary>(self, 'success'),
  onFailure: named<BatchSummary>(self, 'failure'),
  onComplete: named<BatchSummary>(self, 'complete'),
});

async function sendBatch(self: Process, round: string, labels: readonly string[], rest = {}): Promise<Sent> {
  const job = named(self);
  const items = labels.map((label) => ({ label }));
  const { id } = await self.client.batch(round, items, {
    job,
    id: `batch-${round}`,
    ...callsOf(self),
    ...rest,
  });
  const jobs = labels.map((label, i) => ({ label, job: job.name, id: `batch.${id}.${i}` }));
  return { jobs, batches: [id] };
}

/** Callbacks are called once per round of the batch. A retry of a dead letter begins another round. */
function callsAfter(fates: readonly Fate[], round: string, allowed = 0) {
  const mended = fates.filter((fate) => fate === 'mended').length;
  const lost = fates.filter((fate) => fate === 'gone' || fate === 'dead').length;
  const before = lost + mended > allowed ? 'failure' : 'success';
  const after = lost > allowed ? 'failure' : 'success';
  const times: Record<string, number | readonly [number, number]> = {
    [`success.${round}`]: 0,
    [`failure.${round}`]: 0,
    [`complete.${round}`]: mended > 0 ? [1, 2] : 1,
  };
  // The order decides whether the dead letter had already ended the batch before it was retried.
  times[`${before}.${round}`] = mended > 0 && before !== after ? [0, 1] : 1;
  times[`${after}.${round}`] = mended > 0 && before === after ? [1, 2] : 1;
  return times;
}

export const batch: Sample = {
  ignoresTx: true,
  promises: 'each callback runs once, after all children have ended',
  parts: (self) => ({ jobs: [workJob(self), ...callJobs(self)] }),
  send: (self, round) => sendBatch(self, round, three(round)),
  follows: (fateOf, round) => callsAfter(three(round).map(fateOf), round),
};

const withPoison = (round: string) => [...three(round), `${poison}.${round}`];

export const batchWithFailures: Sample = {
  ignoresTx: true,
  promises: 'it succeeds if no more children fail than it allows',
  parts: batch.parts,
  send: (self, round) => sendBatch(self, round, withPoison(round), { allowFailures: 1 }),
  follows: (fateOf, round) => callsAfter(withPoison(round).map(fateOf), round, 1),
};

export const nestedBatch: Sample = {
  also: ['steps'],
  ignoresTx: true,
  promises: 'a child with a batch of its own counts when that batch has ended',
  // A check finds a lost report: first of the inner batch, then of the outer one.
  asksMs: minute,
  parts: (self) => ({
    jobs: [
      workJob(self, {
        async handle(work, ctx) {
          const inner = await ctx.batch('inner', [{ label: `${work.label}.inner` }], {
            job: named(self, 'inner'),
          });
          await ctx.waitForBatch(inner, { timeoutMs: '1h' });
          await self.work(work, ctx);
        },
      }),
      jobOf<Work>(self, 'inner', (work, ctx) => self.work(work, ctx)),
      ...callJobs(self),
    ],
  }),
  send: (self, round) => sendBatch(self, round, three(round)),
  follows: (fateOf, round) => ({
    ...callsAfter(three(round).map(fateOf), round),
    ...Object.fromEntries(
      three(round).map((label) => [`${label}.inner`, fateOf(label) === 'gone' ? [0, 1] : 1]),
    ),
  }),
};

export const chainWithFanIn: Sample = {
  promises: 'each link runs once and gets the results of the links before it',
  parts: (self) => ({
    jobs: [
      workJob(self, {
        async handle(work, ctx) {
          await self.work(work, ctx);
          return work.label;
        },
      }),
      ...['left', 'right'].map((name) =>
        jobOf<string>(self, name, async (first, ctx) => {
          await self.work({ label: `${name}.${first}` }, ctx);
          return first;
        }),
      ),
      jobOf<string[]>(self, 'last', ([first], ctx) => self.work({ label: `last.${first}` }, ctx)),
    ],
  }),
  async send(self, round) {
    const [first, left, right] = ['work', 'left', 'right'].map((name) => named(self, name));
    const label = `a.${round}`;
    const links = [first!, [left!, right!], named(self, 'last')] as never;
    const { id, ids } = await self.client.chain(links, { label } as never, {
      id: `chain-${round}`,
      ...inTx(self),
    });
    return {
      jobs: [{ label, job: first!.name, id: (ids as readonly string[])[0]! }],
      chains: [id],
    };
  },
  follows(fateOf, round) {
    const label = `a.${round}`;
    const times = ['done', 'mended'].includes(fateOf(label)) ? 1 : 0;
    return { [`left.${label}`]: times, [`right.${label}`]: times, [`last.${label}`]: times };
  },
};

export const stepsWithSleep: Sample = {
  promises: 'a completed step does not run again, and the job continues after its sleep',
  asksMs: 20 * second,
  parts: (self) => ({
    jobs: [
      workJob(self, {
        async handle(work, ctx) {
          await ctx.step('before', () => self.work({ label: `${work.label}.before` }, ctx));
          await ctx.sleep(20 * second);
          await ctx.step('after', () => self.work(work, ctx));
        },
      }),
    ],
  }),
  send: async (self, round) => ({ jobs: await each(self, three(round)) }),
  follows: (fateOf, round) =>
    Object.fromEntries(
      three(round).map((label) => [`${label}.before`, fateOf(label) === 'gone' ? [0, 1] : 1]),
    ),
};

export const stepsWithKey: Sample = {
  also: ['idempotency'],
  promises: 'only one of two jobs with the same key is done, even while it sleeps',
  asksMs: 2 * minute,
  parts: (self) => {
    const sleeps = async (work: Work, ctx: HandlerContext) => {
      await ctx.step('before', () => self.work({ label: `${work.label}.before` }, ctx));
      await ctx.sleep(20 * second);
      await ctx.step('after', () => self.work(work, ctx));
    };
    return { jobs: [workJob(self, { handle: sleeps, idempotencyKey: ({ label }) => `key-${label}` })] };
  },
  send: async (self, round) => ({ jobs: await each(self, [...three(round), `a.${round}`]) }),
  // The second job with the key may begin when the first is gone, or has died in its first attempt.
  follows: (fateOf, round) =>
    Object.fromEntries(
      three(round).map((label) => [
        `${label}.before`,
        [fateOf(label) === 'gone' ? 0 : 1, label.startsWith('a') ? 2 : 1],
      ]),
    ),
};

export const waitFor: Sample = {
  promises: 'a job continues when its event comes, and gets it once',
  asksMs: 20 * second,
  parts: (self) => ({
    jobs: [
      workJob(self, {
        async handle(work, ctx) {
          const event = await ctx.waitFor<string>('go', { key: work.label, timeoutMs: '10m' });
          await self.work(event ? work : { label: `${work.label}, which has heard nothing` }, ctx);
        },
      }),
    ],
  }),
  send: stepsWithSleep.send,
  meanwhile: (people, round) =>
    void people.clock.after(20 * second, async () => {
      for (const key of three(round)) await people.client.emit('go', 'now', { key, keepMs: 180 * minute });
    }),
};

const everyMs = 20 * second;

/** The schedule is removed after three runs. */
function schedule(overlap: 'allow' | 'skip', takesMs: number): Sample {
  return {
    promises: 'each run of the schedule has one job, until the schedule is removed',
    ticks: true,
    ignoresTx: true,
    asksMs: 5 * everyMs,
    parts: (self) => ({ jobs: [workJob(self, { handle: (work, ctx) => self.work(work, ctx, takesMs) })] }),
    async send(self, round) {
      const name = `schedule-${round}`;
      await self.client.schedules.upsert({
        name,
        everyMs,
        overlap,
        until: new Date(self.client.app.clock.now() + 60 * everyMs),
        limit: 4,
        job: named(self),
        payload: { label: name },
      });
      return { jobs: [] };
    },
    meanwhile: (people, round) =>
      void people.clock.after(3.5 * everyMs, () => void people.client.schedules.remove(`schedule-${round}`)),
    follows: (_, round) => ({ [`schedule-${round}`]: [1, 4] }),
    async check(seen: Seen) {
      const complaints = overlap === 'skip' ? atOnce(seen, 1) : [];
      const { schedules } = await seen.people.client.schedules.list();
      complaints.push(...schedules.map(({ name }) => `${name} is still there`));
      const records = (await seen.people.client.stores.records.page({ queue, max: 100 })).records;
      const keys = records.map(({ idempotencyKey }) => idempotencyKey);
      if (new Set(keys).size < keys.length) complaints.push('a moment has two jobs');
      return complaints;
    },
  };
}

export const storedSchedule = schedule('allow', second);
export const overlapSkip = schedule('skip', 25 * second);

export const transaction: Sample = {
  promises: 'writes of the handler commit with its end, or not at all',
  transacts: true,
  parts: (self) => ({ jobs: [workJob(self, { transaction: true })] }),
  send: stepsWithSleep.send,
};
