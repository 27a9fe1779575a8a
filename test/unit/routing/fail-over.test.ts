/** What a client remembers of a backend that does not answer. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  type Contract,
  connect,
  createApp,
  defineJob,
  defineSchedule,
  startWorker,
  tick,
} from '../../../core/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { ring, until } from '../core/kit.ts';
import { createBench, readyOn } from './kit.ts';

/** Calls wait until `answer()`, where `holds`. */
function switchable(backend: Contract.QueueBackend) {
  const it = { calls: 0, away: false, holds: false, answer: () => {} };
  const enqueue: typeof backend.enqueue = async (messages) => {
    it.calls++;
    if (it.holds)
      await new Promise<void>((resolve) => {
        it.answer = resolve;
      });
    if (it.away) throw new Error('gone');
    return backend.enqueue(messages);
  };
  return { it, backend: { ...backend, enqueue } };
}

function createPair() {
  const b = createBench();
  const [fast, other] = [switchable(b.backends.fast), switchable(b.backends.default)];
  const backends = { default: other.backend, fast: fast.backend };
  const client = connect(b.app, backends, { failover: { fast: 'default' } });
  const send = async () => (await client.enqueue(b.thumb, { n: 1 })).backend;
  const warnings = () => b.eventsOf('backend.warning').map(({ message }) => message);
  return { ...b, client, send, warnings, fast: fast.it, other: other.it };
}

it('asks one that failed again after a pause that grows from 1 s to 30 s', async () => {
  const { clock, fast, send } = createPair();
  fast.away = true;
  expect(await send()).toBe('default');
  const pausesMs: number[] = [];
  for (let n = 0; n < 7; n++) {
    const { calls } = fast;
    let pauseMs = 0;
    for (; fast.calls === calls; pauseMs += 500) {
      clock.advance(500);
      expect(await send()).toBe('default');
    }
    pausesMs.push(pauseMs);
  }
  expect(pausesMs).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});

it('goes back with the call that finds it answering, and tells each change once', async () => {
  const { clock, fast, send, warnings, eventsOf } = createPair();
  fast.away = true;
  for (let n = 0; n < 3; n++) await send();
  fast.away = false;
  expect(await send()).toBe('default');
  clock.advance(1_000);
  for (let n = 0; n < 2; n++) expect(await send()).toBe('fast');
  expect(eventsOf('enqueue.failed-over').length).toBe(4);
  expect(warnings()).toEqual([
    expect.stringMatching(/^Backend "fast" does not answer, so its new jobs go to "default" for now: .*gone/),
    'Backend "fast" answers again: new jobs go there.',
  ]);
  fast.away = true;
  await send();
  expect(warnings().length).toBe(3);
  clock.advance(1_000); // the pause is short again
  await send();
  expect(fast.calls).toBe(5);
});

it('lets one call try while the others go on, and calls that fail together count once', async () => {
  const { clock, fast, send } = createPair();
  fast.away = true;
  expect(await Promise.all([send(), send(), send()])).toEqual(['default', 'default', 'default']);
  expect(fast.calls).toBe(3);
  clock.advance(1_000);
  fast.holds = true;
  const trying = send();
  await until(() => fast.calls === 4);
  expect(await send()).toBe('default');
  fast.answer();
  expect(await trying).toBe('default');
  clock.advance(1_999);
  await send();
  expect(fast.calls).toBe(4);
});

it('asks both where the other one fails too: no job is refused for what is remembered', async () => {
  const { fast, other, send } = createPair();
  fast.away = true;
  await send();
  other.away = true;
  await expect(send()).rejects.toThrow(/gone Backend "default" does not answer either: .*gone/);
  fast.away = false;
  expect(await send()).toBe('fast');
});

/** The first backend of `failover` is away: no verb of it answers, nor does a store that it keeps. */
function createAwayPair(options: Parameters<typeof createBench>[0] = {}) {
  const b = createBench(options);
  const state = { away: true };
  const { enqueue, stores, ...rest } = b.backends.fast;
  const gone = async (): Promise<never> => {
    throw new Error('gone');
  };
  const guarded = <T extends object>(all: T): T =>
    new Proxy(all, {
      get(target, name) {
        const member = Reflect.get(target, name);
        if (typeof member === 'object' && member !== null) return guarded(member);
        if (typeof member !== 'function') return member;
        return (...call: unknown[]) => (state.away ? gone() : Reflect.apply(member, target, call));
      },
    });
  const fast: Contract.QueueBackend = {
    ...rest,
    ...guarded({ enqueue, now: async () => b.clock.now() }),
    stores: guarded(stores!),
  };
  const client = connect(b.app, { default: b.backends.default, fast }, { failover: { fast: 'default' } });
  return { ...b, fast, client, state };
}

describe('a backend that has never answered', () => {
  it('gives the other one jobs with a time as well', async () => {
    const { client, thumb, clock, backends, eventsOf } = createAwayPair();
    for (const options of [
      { delayMs: 1_000 },
      { runAt: new Date(clock.now() + 1_000) },
      { unique: { key: 'k', during: 'waiting' } },
      { debounce: { key: 'd', waitMs: 1_000 } },
    ] as const)
      expect(await client.enqueue(thumb, { n: 1 }, options)).toMatchObject({ backend: 'default' });
    expect(eventsOf('backend.warning').length).toBe(1);
    expect(await readyOn(backends.default)).toEqual(['thumb in default']);
    clock.advance(1_000);
    expect((await readyOn(backends.default)).length).toBe(3);
  });

  it('goes back to it with the first call after the pause, also where all jobs have a time', async () => {
    const { client, thumb, clock, state } = createAwayPair();
    const send = async () => (await client.enqueue(thumb, { n: 1 }, { delayMs: 1_000 })).backend;
    expect(await send()).toBe('default');
    state.away = false;
    expect(await send()).toBe('default');
    clock.advance(1_000);
    expect(await send()).toBe('fast');
  });

  it('says of both that they do not answer', async () => {
    const { client, thumb, fast, app } = createAwayPair();
    await expect(client.enqueue(thumb, { n: 1 }, { tx: {} as never })).rejects.toThrow(/transaction/);
    const both = connect(app, { default: fast, fast }, { failover: { fast: 'default' } });
    await expect(both.enqueue(thumb, { n: 1 }, { delayMs: 1 })).rejects.toThrow(
      /gone Backend "default" does not answer either: .*gone/,
    );
  });

  it('gives the other one chains and batches, which keeps them to their end', async () => {
    const ran: string[] = [];
    const handle = async ({ n }: { n: number }, { job }: { job: string }) => {
      ran.push(`${job} ${n}`);
      return { n };
    };
    const payload = z.object({ n: z.number() });
    const first = defineJob({ name: 'first', backend: 'fast', payload, handle });
    const last = defineJob({ name: 'last', queue: 'images', payload: z.any(), handle });
    const { app, client, fast, backends, eventsOf } = createAwayPair({ jobs: [first, last] });
    const chain = await client.chain([first, { job: last, options: { delayMs: 0 } }], { n: 1 });
    const parallel = await client.chain([[first, last], last], { n: 2 });
    const batch = await client.batch('all', [{ n: 3 }, { n: 4 }], { job: first, onComplete: last });
    expect(eventsOf('enqueue.failed-over').map(({ ids }) => ids)).toEqual([[chain.ids[0]], parallel.ids[0]]);
    const worker = await startWorker(app, {
      backend: { default: backends.default, fast },
      failover: { fast: 'default' },
      backendName: 'default',
      untilIdle: true,
    });
    await worker.done;
    expect(ran.length).toBe(2 + 3 + 3);
    for (const { id } of [chain, parallel])
      expect(await client.chains.get(id)).toMatchObject({ state: 'completed' });
    expect(await client.batches.get(batch.id)).toMatchObject({ succeeded: 2 });
  });

  it('keeps a batch with an id of the caller, which may have been begun there', async () => {
    const { client, thumb } = createAwayPair();
    await expect(client.batch('all', [{ n: 3 }], { id: 'mine', job: thumb })).rejects.toThrow('gone');
  });

  it('gives the other one jobs of a schedule, where its keys are elsewhere', async () => {
    const b = createAwayPair();
    const { keys } = memoryStore({ clock: b.clock });
    const schedule = defineSchedule({ name: 'often', job: b.thumb, payload: { n: 1 }, everyMs: 60_000 });
    const app = createApp({
      jobs: [b.mail, b.thumb, b.resize, b.both],
      schedules: [schedule],
      queues: { images: { backend: 'fast' } },
      signing: ring,
      clock: b.clock,
    });
    const client = connect(
      app,
      { default: b.backends.default, fast: b.fast },
      { failover: { fast: 'default' }, store: { fast: { keys } } },
    );
    await tick(app, client);
    b.clock.advance(60_000);
    expect((await tick(app, client)).length).toBe(1);
    expect(await readyOn(b.backends.default)).toEqual(['thumb in default']);
  });
});
