/** Jobs of several kinds in one call of `enqueueMany()`. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { OutgoingMessage, QueueBackend } from '../../../core/contract/queue.ts';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { connect } from '../../../core/routing/connect.ts';
import { bench, job, ring } from './kit.ts';

describe('enqueueMany of several kinds', () => {
  const mail = job({ name: 'mail', queue: 'mail' });
  const report = job({ name: 'report', queue: 'reports', payload: z.object({ n: z.number() }) as never });
  const several = (options: Partial<Parameters<typeof bench>[0]> = {}) =>
    bench({ jobs: [mail, report], ...options });
  const envelopes = async (b: ReturnType<typeof bench>, queue: string) => {
    const leases = await b.backend.fetch({ queues: [queue], max: 9, leaseMs: 1_000, waitMs: 0 });
    return leases.map(({ body }) => readEnvelope(body, { ring, now: b.clock.now(), maxBytes: 9e9 }));
  };

  it('gives one result per job, in order, and each job has its own options', async () => {
    const b = several();
    const results = await b.client.enqueueMany(
      [
        { job: report, payload: { n: 1 }, options: { maxRetries: 7 } },
        { job: mail, payload: 'Ada', options: { context: { tenantId: 'globex' } } },
        { job: report, payload: { n: 'x' } },
        { job: job({ name: 'unknown' }), payload: {} },
        { job: report, payload: { n: 2 }, options: { queue: 'mail', delayMs: -1 } },
        { job: report, payload: { n: 3 }, options: { queue: 'mail' } },
      ],
      { context: { tenantId: 'acme' } },
    );
    expect(results.map((result) => (result.ok ? result.id : result.error.code))).toEqual([
      'id-1',
      'id-2',
      'PAYLOAD',
      'UNKNOWN_JOB',
      'OPTION',
      'id-4',
    ]);
    expect(await envelopes(b, 'reports')).toMatchObject([
      { job: 'report', payload: { n: 1 }, maxRetries: 7, context: { tenantId: 'acme' } },
    ]);
    expect(await envelopes(b, 'mail')).toMatchObject([
      { job: 'mail', payload: 'Ada', context: { tenantId: 'globex' } },
      { job: 'report', payload: { n: 3 }, context: { tenantId: 'acme' } },
    ]);
  });

  it('sends them in one call of the backend', async () => {
    const b = several();
    const sends: number[] = [];
    const enqueue = async (messages: readonly OutgoingMessage[]) => {
      sends.push(messages.length);
      return b.backend.enqueue(messages);
    };
    const client = connect(b.app, { ...b.backend, enqueue });
    await client.enqueueMany([
      { job: mail, payload: 1 },
      { job: report, payload: { n: 1 } },
    ]);
    expect(sends).toEqual([2]);
  });

  it('tells a middleware the job and the queue that all have', async () => {
    const calls: unknown[] = [];
    const b = several({
      use: [
        {
          enqueue(call, next) {
            calls.push([call.job, call.queue, call.count]);
            return next();
          },
        },
      ],
    });
    const [one, two] = [
      { job: mail, payload: 1 },
      { job: report, payload: { n: 1 }, options: { queue: 'mail' } },
    ];
    await b.client.enqueueMany([one!, one!]);
    await b.client.enqueueMany([one!, two!]);
    await b.client.enqueueMany([one!, { ...two!, options: {} }]);
    expect(calls).toEqual([
      ['mail', 'mail', 2],
      [null, 'mail', 2],
      [null, null, 2],
    ]);
  });

  it.each([
    ['nothing', null, 'UNKNOWN_JOB'],
    ['a text', 'mail', 'UNKNOWN_JOB'],
    ['a job without its payload around it', mail, 'UNKNOWN_JOB'],
    ['a transaction of its own', { job: mail, payload: 1, options: { tx: {} } }, 'OPTION'],
  ])('refuses %s in the list', async (_, wrong, code) => {
    const b = several();
    const [good, bad] = await b.client.enqueueMany([{ job: mail, payload: 1 }, wrong as never]);
    expect([good.ok, bad]).toMatchObject([true, { ok: false, error: { code } }]);
  });

  it('shares a transaction', async () => {
    const b = several();
    const seen: unknown[] = [];
    const enqueueIn: QueueBackend['enqueueIn'] = async (tx, messages) => {
      seen.push(tx);
      return b.backend.enqueue(messages);
    };
    const client = connect(b.app, { ...b.backend, enqueueIn });
    const tx = { query: async () => ({ rows: [] }) };
    const results = await client.enqueueMany(
      [
        { job: mail, payload: 1 },
        { job: report, payload: { n: 1 } },
      ],
      {
        tx,
      },
    );
    expect(results.map(({ ok }) => ok)).toEqual([true, true]);
    expect(seen).toEqual([tx]);
  });
});
