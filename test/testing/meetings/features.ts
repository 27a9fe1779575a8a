/** The features, each as a record. */

import type { BatchSummary } from '../../../core/app/batch.ts';
import type { JobDefinition } from '../../../core/app/job.ts';
import type { StandardSchema } from '../../../core/app/schema.ts';
import { defineJob, fixed, type Job } from '../../../core/index.ts';
import type { Feature, SentJob } from './feature.ts';
import type { Process } from './process.ts';

interface Work {
  readonly label: string;
}

/** Any value of this type: what is checked here is not the payload. */
export const any = <T>(): StandardSchema<T, T> => ({
  '~standard': { version: 1, vendor: 'longshore', validate: (value) => ({ value: value as T }) },
});

type Parts = Partial<JobDefinition<ReturnType<typeof any<Work>>, unknown>>;

const queue = 'work';

export function workJob(self: Process, parts: Parts = {}): Job<Work> {
  return defineJob({
    ...{ name: 'work', queue, payload: any<Work>(), retry: fixed(1_000), maxRetries: 2, timeoutMs: 120_000 },
    handle: ({ label }, ctx) => self.work(label, ctx),
    ...parts,
  }) as Job<Work>;
}

/** One enqueue per label. */
async function each(
  self: Process,
  labels: readonly string[],
  options: (label: string, i: number) => object = () => ({}),
): Promise<SentJob[]> {
  const job = self.app.jobs.get('work') as Job<Work>;
  const sent: SentJob[] = [];
  for (const [i, label] of labels.entries()) {
    const { id, duplicate } = await self.client.enqueue(job, { label }, options(label, i));
    sent.push({ label, job: job as Job<never>, id, ...(duplicate && { duplicate }) });
  }
  return sent;
}

const three = (round: string): string[] => ['a', 'b', 'c'].map((name) => `${name}.${round}`);

const delay: Feature = {
  name: 'delay',
  promises: 'a job does not run before its time',
  asksMs: 120_000,
  app: (self) => ({ jobs: [workJob(self)] }),
  send: async (self, round) => ({ jobs: await each(self, three(round), () => ({ delayMs: 120_000 })) }),
};

const single: Feature = {
  name: 'single',
  promises: 'one runs at a time',
  app: (self) => ({ jobs: [workJob(self, { single: true })] }),
  send: async (self, round) => ({ jobs: await each(self, three(round)) }),
};

const batch: Feature = {
  name: 'batch',
  promises: 'what it calls runs once, when all children have ended',
  // One that ends without an attempt is found by a look: at batches that have been quiet for a minute, once a minute.
  asksMs: 60_000,
  app(self) {
    const call = (name: string) =>
      defineJob({
        ...{ name, queue, payload: any<BatchSummary>(), retry: fixed(1_000), maxRetries: 2 },
        handle: (summary, ctx) => self.work(`${name}.${summary.name}`, ctx),
      });
    return { jobs: [workJob(self), ...['success', 'failure', 'complete'].map(call)] };
  },
  async send(self, round) {
    const { jobs } = self.app;
    const job = jobs.get('work') as Job<Work>;
    const { id } = await self.client.batch(
      round,
      three(round).map((label) => ({ label })),
      {
        job,
        id: `batch-${round}`,
        onSuccess: jobs.get('success') as Job<BatchSummary>,
        onFailure: jobs.get('failure') as Job<BatchSummary>,
        onComplete: jobs.get('complete') as Job<BatchSummary>,
      },
    );
    const sent = three(round).map((label, i) => ({ label, job: job as Job<never>, id: `batch.${id}.${i}` }));
    return { jobs: sent, batches: [id] };
  },
  follows(fateOf, round) {
    const isWhole = three(round).every((label) => fateOf(label) === 'done');
    return {
      [`success.${round}`]: isWhole ? 1 : 0,
      [`failure.${round}`]: isWhole ? 0 : 1,
      [`complete.${round}`]: 1,
    };
  },
};

export const features: readonly Feature[] = [delay, single, batch];
