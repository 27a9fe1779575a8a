/** The jobs of the samples, and how several of them send. */

import { extname } from 'node:path';
import { defineJob, delays, type Job } from '../../../core/index.ts';
import type { JobDefinition } from '../../../core/kernel/app/job.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import type { StandardSchema } from '../../../core/kernel/app/schema.ts';
import { type Process, queue, type Run, type Work } from './process.ts';
import type { Seen, SentJob } from './sample.ts';

export { queue } from './process.ts';

/** Accepts any value, because payloads are not tested here. */
export const any = <T>(): StandardSchema<T, T> => ({
  '~standard': { version: 1, vendor: 'longshore', validate: (value) => ({ value: value as T }) },
});

/** Makes a payload too large for a queue with a small limit. */
export const filling = 'large '.repeat(1_000);

/** The last attempt comes after a store that was down for half a minute is back. */
const retry = delays([1_000, 40_000]);

const common = { queue, retry, maxRetries: 2, timeoutMs: 120_000 };

type Parts = Partial<JobDefinition<StandardSchema<Work, Work>, unknown>>;

export function workJob(self: Process, parts: Parts = {}): Job<Work> {
  const placement =
    self.isIsolated && !parts.handle
      ? ({
          isolate: 'thread',
          module: new URL(`./isolated${extname(import.meta.url)}`, import.meta.url),
        } as const)
      : {};
  return defineJob({
    ...{ name: 'work', payload: any<Work>(), ...common },
    handle: (work, ctx) => self.work(work, ctx),
    ...self.everyJob,
    ...parts,
    ...placement,
  }) as Job<Work>;
}

/** A job with another payload. */
export function jobOf<Payload>(
  self: Pick<Process, 'everyJob'>,
  name: string,
  handle: JobDefinition<StandardSchema<Payload, Payload>>['handle'],
): Job<Payload> {
  return defineJob({ name, payload: any<Payload>(), ...common, ...self.everyJob, handle }) as Job<Payload>;
}

export const named = <Payload = Work>(self: Process, name = 'work'): Job<Payload> =>
  self.app.jobs.get(name) as Job<Payload>;

export const three = (round: string): string[] => ['a', 'b', 'c'].map((name) => `${name}.${round}`);

/** One call per label. */
export async function each(
  self: Process,
  labels: readonly string[],
  options: (label: string) => EnqueueOptions = () => ({}),
): Promise<SentJob[]> {
  const sent: SentJob[] = [];
  for (const label of labels) sent.push(await one(self, { label }, options(label)));
  return sent;
}

/** For a call that is part of a transaction of its sender. */
export const inTx = ({ tx }: Process) => (tx ? { tx } : {});

export async function one(self: Process, work: Work, options: EnqueueOptions = {}): Promise<SentJob> {
  const job = named(self);
  const { id, duplicate } = await self.client.enqueue(job, work, { ...options, ...inTx(self) });
  const sentAt = self.elapsed();
  return { label: work.label, job: job.name, id, sentAt, ...(duplicate && { duplicate }) };
}

/** When the run has really ended, even if its process was stopped. */
export const endOf = ({ endedAt, lostAt }: Run): number => Math.min(endedAt ?? Infinity, lostAt ?? Infinity);

/** Complaints if more than `most` jobs ran at the same time. Two runs of the same job count as one; leases are tested elsewhere. */
export function atOnce({ runs }: Seen, most: number, keyOf: (run: Run) => string = () => ''): string[] {
  for (const run of runs) {
    const beside = runs.filter(
      (other) => keyOf(other) === keyOf(run) && other.beganAt <= run.beganAt && endOf(other) > run.beganAt,
    );
    if (new Set(beside.map(({ id }) => id)).size > most)
      return [`${beside.map(({ label, by }) => `${label} (${by})`).join(', ')} ran at the same time`];
  }
  return [];
}
