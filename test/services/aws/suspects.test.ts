/** Which messages run alone: those of which nobody knows how they ended when they came last. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, fixed, keyRing } from '../../../core/index.ts';
import { lambda } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { benchesHere } from './bench.ts';
import { timeIsOurs } from './endpoint.ts';

const benches = benchesHere();
const minute = 60_000;

async function open(fifo = false) {
  const store = memoryStore({
    clock: { now: () => t.time.clock.now(), after: (ms, f) => t.time.clock.after(ms, f) },
  });
  const t = await benches.open({ attributes: { VisibilityTimeout: '360' }, fifo, keys: store.keys });
  const { clock } = t.time;
  const ran: string[] = [];
  let running = 0;
  let most = 0;
  const failing = new Set<string>();
  const job = defineJob({
    name: 'job',
    queue: 'mail',
    payload: z.object({ name: z.string() }),
    retry: fixed(minute),
    timeoutMs: 20_000,
    async handle({ name }, { attempt }) {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      ran.push(`${name}#${attempt}`);
      if (failing.has(name)) throw new Error('not now');
    },
  });
  const app = createApp({ jobs: [job], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]), clock });
  const { worker } = lambda(app, { backend: t.backend, store, log: false });
  const poller = t.poller(worker);
  const own = connect(app, t.backend, { store });
  return {
    ...t,
    ran,
    failing,
    store,
    poller,
    enqueue: (name: string, group?: string) =>
      own.enqueue(job, { name }, group === undefined ? {} : { group }),
    begins: async (id: string) => {
      const job = {
        id,
        queue: 'mail',
        job: 'job',
        tenantId: null,
        priority: 5,
        createdAt: clock.now(),
        runAt: 0,
      };
      await store.records.writer!.started(job, { owner: 'dead', attempt: 1, at: clock.now() });
    },
    /** Lambda gives the event to a process that dies, and brings it again. */
    async crash() {
      await poller.receive();
      await t.time.advance(6 * minute);
    },
    /** How many jobs at most have run side by side since the last call. */
    together() {
      const before = most;
      most = 0;
      return before;
    },
  };
}

describe.runIf(timeIsOurs)('a message that came before', () => {
  it('and has begun runs alone, and the others go back without losing an attempt', async () => {
    const t = await open();
    const { id } = await t.enqueue('a');
    await t.begins(id);
    await t.crash();
    for (const name of ['b', 'c']) await t.enqueue(name);
    expect(await t.poller.poll(minute)).toMatchObject({ taken: 3, done: 3 });
    expect(t.ran).toEqual(['a#2']);
    expect(await t.poller.poll(minute)).toMatchObject({ taken: 2, done: 2 });
    expect(t.ran.slice(1).toSorted()).toEqual(['b#1', 'c#1']);
    expect(t.together()).toBe(2);
  });

  it('stays one that must run alone while it is handed back', async () => {
    const t = await open();
    for (const name of ['a', 'b', 'c']) await t.begins((await t.enqueue(name)).id);
    await t.crash();
    for (let left = 3; left > 0; left--) expect(await t.poller.poll(minute)).toMatchObject({ taken: left });
    expect(t.ran.toSorted()).toEqual(['a#2', 'b#2', 'c#2']);
    expect(t.together()).toBe(1);
  });

  it('and is not known at all runs alone', async () => {
    const t = await open();
    for (const name of ['a', 'b']) await t.enqueue(name);
    t.store.records.get = async () => {
      throw new Error('away');
    };
    await t.crash();
    expect(await t.poller.poll(minute)).toMatchObject({ taken: 2 });
    expect(t.ran).toEqual(['a#2']);
  });

  it('and has not begun runs beside the others', async () => {
    const t = await open();
    for (const name of ['a', 'b', 'c']) await t.enqueue(name);
    await t.crash();
    expect(await t.poller.poll(minute)).toMatchObject({ taken: 3, done: 3 });
    expect(t.together()).toBe(3);
  });

  it('and has failed is retried beside the others', async () => {
    const t = await open();
    for (const name of ['a', 'b', 'c']) {
      await t.enqueue(name);
      t.failing.add(name);
    }
    await t.poller.poll(minute);
    t.failing.clear();
    await t.time.advance(minute);
    t.together();
    expect(await t.poller.poll(minute)).toMatchObject({ taken: 3, done: 3 });
    expect(t.ran.slice(3).toSorted()).toEqual(['a#2', 'b#2', 'c#2']);
    expect(t.together()).toBe(3);
  });

  it('on a FIFO queue keeps its place: the first of its group runs', async () => {
    const t = await open(true);
    const ids = [];
    for (const name of ['a1', 'a2', 'b1']) ids.push((await t.enqueue(name, name[0])).id);
    await t.begins(ids[0]!);
    await t.crash();
    expect(await t.poller.poll(minute)).toMatchObject({ taken: 3, done: 1 });
    expect(t.ran).toEqual(['a1#2']);
    await t.poller.poll(minute);
    expect(t.ran.slice(1).toSorted()).toEqual(['a2#2', 'b1#2']);
  });
});
