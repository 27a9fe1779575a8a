/** What goes back to SQS from one invocation goes in as few requests as it fits in. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, fixed, keyRing } from '../../../core/index.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { lambda } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { benchesHere } from './bench.ts';

const benches = benchesHere();
const minute = 60_000;

const payload = z.object({ does: z.enum(['ends', 'fails', 'stays']), turns: z.number().default(0) });

async function open({ rate }: { readonly rate?: { readonly limit: number; readonly perMs: number } } = {}) {
  const t = await benches.open({ attributes: { VisibilityTimeout: '360' } });
  const { clock } = t.time;
  const store = memoryStore({ clock });
  /** Of the job that stays longer. */
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const job = defineJob({
    name: 'job',
    queue: 'mail',
    payload,
    retry: fixed(minute),
    ...(rate && { rate }),
    async handle({ does, turns }) {
      for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
      if (does === 'fails') throw new Error('not now');
      if (does === 'stays') await finished;
    },
  });
  const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]), clock });
  const { worker } = lambda(app, { backend: t.backend, store, log: false });
  const poller = t.poller(worker);
  const own = connect(app, t.backend, { store });
  return {
    ...t,
    finish,
    operator: createOperator(own, { from: 'test', actor: 'test' }),
    async poll(payloads: readonly z.infer<typeof payload>[]) {
      await own.enqueueMany(job, payloads);
      t.requests.clear();
      return poller.poll(10 * minute);
    },
    asked: () => {
      const { requests } = t;
      const of = (name: string) => requests.get(`${name}Command`) ?? 0;
      return {
        sent: of('SendMessageBatch'),
        deleted: of('DeleteMessageBatch'),
        hidden: of('ChangeMessageVisibilityBatch'),
      };
    },
  };
}

const ten = Array.from({ length: 10 }, (_, turns) => ({ does: 'ends', turns }) as const);

describe('ten jobs of one event', () => {
  it('that are paused go back in two requests', async () => {
    const t = await open();
    await t.operator.jobs.pause('job');
    await t.poll(ten);
    expect(t.asked()).toMatchObject({ sent: 1, hidden: 0 });
    expect(t.asked().deleted).toBeLessThanOrEqual(2); // one of them is Lambda's own
  });

  it('of which nine wait at a rate go back in two requests', async () => {
    const t = await open({ rate: { limit: 1, perMs: 60 * minute } });
    await t.poll(ten);
    expect(t.asked()).toMatchObject({ sent: 1, hidden: 0 });
    expect(t.asked().deleted).toBeLessThanOrEqual(2);
  });

  it('that fail one after the other are hidden in one request', async () => {
    const t = await open();
    await t.poll(ten.map(({ turns }) => ({ does: 'fails', turns })));
    expect(t.asked()).toMatchObject({ sent: 0, hidden: 1 });
  });

  it('do not wait for one that stays', async () => {
    const t = await open();
    const polled = t.poll([
      { does: 'stays', turns: 0 },
      { does: 'fails', turns: 0 },
      { does: 'fails', turns: 3 },
    ]);
    await expect
      .poll(async () => {
        await t.time.advance(10);
        return t.asked().hidden;
      })
      .toBe(1);
    t.finish();
    await polled;
  });
});
