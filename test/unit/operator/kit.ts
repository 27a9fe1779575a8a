/** What the tests of the operator share: an app whose jobs fail as their payload says, and an operator beside it. */

import * as z from 'zod';
import { PermanentError } from '../../../core/base/errors.ts';
import type { AuditEntry, AuditLog } from '../../../core/contract/derived/audit.ts';
import { defineJob, type Job } from '../../../core/kernel/app/job.ts';
import { noRetry } from '../../../core/kernel/app/retry.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { createOperator } from '../../../core/operations/index.ts';
import type { Operator } from '../../../core/operations/types.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { type Bench, type BenchOptions, bench } from '../core/kit.ts';

/** To whom mail goes through by now. */
export const mended = new Set<string>();

export const mail = defineJob({
  name: 'mail',
  payload: z.object({
    to: z.string(),
    error: z.string().optional(),
    login: z.object({ user: z.string(), password: z.string() }).optional(),
  }),
  retry: noRetry,
  idempotencyKey: ({ to }) => `mail-${to}`,
  handle({ to, error }) {
    if (!mended.has(to) && error !== undefined) throw new PermanentError(error);
  },
});

export const brief = defineJob({
  name: 'brief',
  queue: 'other',
  payload: z.object({ n: z.number() }),
  expiresInMs: 60_000,
  retry: noRetry,
  handle({ n }) {
    throw new PermanentError(`number ${n} is wrong`);
  },
});

export const by = { actor: 'ann', from: 'cli desk-1' };

export interface OperatorBench extends Bench {
  readonly operator: Operator;
  /** Runs what is ready until nothing is. */
  drain(): Promise<void>;
  /** Enqueues and lets it die; resolves with its id. */
  die<Input>(job: Job<Input>, payload: NoInfer<Input>): Promise<string>;
}

export function operatorBench(options: Partial<BenchOptions> = {}): OperatorBench {
  const it = bench({ jobs: [mail, brief] as never, ...options });
  const queues = ['default', 'other'];
  async function drain(): Promise<void> {
    for (;;) {
      const leases = await it.backend.fetch({ queues, max: 1, leaseMs: 60_000, waitMs: 0 });
      if (leases.length === 0) return;
      await it.run(createRun(leases[0]!));
    }
  }
  return {
    ...it,
    operator: createOperator(it.client, by),
    drain,
    async die(job, payload) {
      const { id } = await it.client.enqueue(job, payload);
      await drain();
      it.clock.advance(1);
      return id;
    },
  };
}

/** An audit log whose writes fail as the test wants, and what it has kept, oldest first. */
export function auditLog(fails: (entry: AuditEntry) => boolean = () => false) {
  const kept = memoryStore().audit!;
  const audit: AuditLog = {
    async append(entry) {
      if (fails(entry)) throw new Error('the disk is full');
      await kept.append(entry);
    },
    page: (filter) => kept.page(filter),
    purge: async () => 0,
  };
  return { audit, entries: async () => (await kept.page({})).entries.toReversed() };
}
