/** A breaker: jobs that fail anyway wait, until one that is tried succeeds. */

import { describe, expect, it } from 'vitest';
import { RetryAfterError, SnoozeError } from '../../../core/base/errors.ts';
import type { LimitStore } from '../../../core/contract/derived/limits.ts';
import { closeBreaker } from '../../../core/features/limits/breaker.ts';
import { stoppedJobs } from '../../../core/features/limits/stopped-jobs.ts';
import { createApp } from '../../../core/features/table.ts';
import type { Breaker } from '../../../core/kernel/app/breaker.ts';
import type { JobDefinition } from '../../../core/kernel/app/job.ts';
import { fixed, noRetry } from '../../../core/kernel/app/retry.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { connect } from '../../../core/routing/connect.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { type anything, type Bench, bench, job, refusalText, ring } from '../core/kit.ts';
import { noting } from '../core/step-kit.ts';

const second = 1_000;
const minute = 60 * second;
const openMs = 2 * minute;

/** Jobs that do what their payload says: 'ok', or how they fail. */
function mailing(parts: Partial<JobDefinition<typeof anything>> = {}) {
  const ran: unknown[] = [];
  const mail = job({
    name: 'mail',
    retry: noRetry,
    breaker: { failures: 3, openMs },
    handle(payload) {
      ran.push(payload);
      if (payload === 'snooze') throw new SnoozeError(second);
      if (payload === 'later') throw new RetryAfterError(second);
      if (payload !== 'ok') throw new Error('the server is down');
    },
    ...parts,
  });
  const other = job({ name: 'other' });
  const b = bench({ jobs: [mail, other] });
  return {
    ...b,
    mail,
    other,
    ran,
    /** Enqueues, and makes the next attempt. */
    async tell(payload: unknown) {
      await b.client.enqueue(mail, payload);
      return b.next();
    },
    async fail(times: number) {
      for (let n = 0; n < times; n++) {
        await b.client.enqueue(mail, 'fail');
        await b.next();
      }
    },
    stopped: () => stoppedJobs(b.client),
  };
}

/** Tells what the queue has ready. */
async function ready({ backend }: Bench): Promise<number> {
  const [stats] = await backend.admin!.stats('default');
  return stats?.ready ?? 0;
}

const waits = { outcome: 'requeued', counted: false, error: null };

describe('a breaker', () => {
  it('opens after failures in a row: the next job waits, and no attempt is spent', async () => {
    const b = mailing();
    await b.fail(3);
    expect(b.eventsOf('breaker.opened')).toEqual([
      { type: 'breaker.opened', job: 'mail', failures: 3, openMs },
    ]);
    expect(await b.tell('ok')).toMatchObject({ ...waits, delayMs: openMs });
    expect(b.ran).toHaveLength(3);
    expect(await b.stopped()).toEqual([
      { job: 'mail', state: 'open', until: b.clock.now() + openMs, failures: 3, waiting: 1 },
    ]);
  });

  it('stops no other job', async () => {
    const b = mailing();
    await b.fail(3);
    await b.client.enqueue(b.other, 1);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
  });

  it('forgets the failures with a success', async () => {
    const b = mailing();
    await b.fail(2);
    await b.tell('ok');
    await b.fail(2);
    expect(b.eventsOf('breaker.opened')).toEqual([]);
    expect(await b.stopped()).toEqual([]);
    await b.fail(1);
    expect(b.eventsOf('breaker.opened')).toHaveLength(1);
  });

  it('counts each attempt of a job', async () => {
    const b = mailing({ retry: fixed(0), maxRetries: 5 });
    await b.client.enqueue(b.mail, 'fail');
    for (let n = 0; n < 3; n++) await b.next();
    expect(b.eventsOf('breaker.opened')).toHaveLength(1);
  });

  it.each([
    ['snoozes', 'snooze', 0],
    ['asks for a later retry', 'later', 1],
  ])('a job that %s counts as %s', async (_, payload, opened) => {
    const b = mailing({ breaker: { failures: 1, openMs } });
    await b.tell(payload);
    expect(b.eventsOf('breaker.opened')).toHaveLength(opened);
  });

  it('counts the failures of all workers, and stops all of them within a second', async () => {
    const b = mailing();
    // What a process remembers goes with the store it has opened.
    const limits = { ...b.backend.stores!.limits! };
    const client = connect(b.app, b.backend, { store: { limits } });
    const there = async (payload: unknown) => {
      await client.enqueue(b.mail, payload);
      return attempt(b.app, { client, settler: b.backend }, await b.take());
    };
    await there('fail');
    await b.fail(1);
    await there('fail');
    expect(b.eventsOf('breaker.opened')).toHaveLength(1);
    b.clock.advance(second);
    expect(await b.tell('ok')).toMatchObject(waits);
    expect(await there('ok')).toMatchObject(waits);
    expect(b.ran).toHaveLength(3);
  });

  it('forgets failures that are far apart', async () => {
    const b = mailing();
    await b.fail(2);
    b.clock.advance(2 * 86_400_000);
    await b.fail(1);
    expect(b.eventsOf('breaker.opened')).toEqual([]);
  });

  it('does not count a job that began before it opened', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const b = mailing({
      async handle(payload) {
        if (payload === 'long') await promise;
        else throw new Error('the server is down');
      },
    });
    await b.client.enqueue(b.mail, 'long');
    const long = b.run(await b.take(10 * minute));
    await new Promise(setImmediate);
    await b.fail(3);
    resolve();
    expect(await long).toMatchObject({ outcome: 'acked' });
    expect(await b.stopped()).toMatchObject([{ state: 'open', failures: 3 }]);
  });
});

describe('when the time of an open breaker is over', () => {
  /** An open breaker, for which two jobs wait. */
  async function open(payloads: readonly [unknown, unknown]) {
    const b = mailing();
    await b.fail(3);
    for (const payload of payloads) expect(await b.tell(payload)).toMatchObject(waits);
    b.ran.length = 0;
    b.clock.advance(openMs);
    return b;
  }

  it('one job is tried: its success closes it, and wakes the others', async () => {
    const b = await open(['ok', 'ok']);
    const run = await b.take();
    expect(await ready(b)).toBe(0);
    expect(await b.run(run)).toMatchObject({ outcome: 'acked' });
    expect(b.eventsOf('breaker.closed')).toEqual([{ type: 'breaker.closed', job: 'mail' }]);
    expect(await b.stopped()).toEqual([]);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
  });

  it('one alone is tried: others still wait', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const b = mailing({
      async handle(payload) {
        if (payload === 'fail') throw new Error('the server is down');
        await promise;
      },
    });
    await b.fail(3);
    b.clock.advance(openMs);
    await b.client.enqueue(b.mail, 1);
    await b.client.enqueue(b.mail, 2);
    const first = b.run(await b.take());
    await new Promise(setImmediate);
    expect(await b.next()).toMatchObject(waits);
    expect(await b.stopped()).toMatchObject([{ state: 'trying', until: null, waiting: 1 }]);
    resolve();
    expect(await first).toMatchObject({ outcome: 'acked' });
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
  });

  it('its failure opens it again', async () => {
    const b = await open(['fail', 'ok']);
    await b.next();
    expect(b.eventsOf('breaker.opened')).toHaveLength(2);
    expect(await ready(b)).toBe(0);
    expect(await b.stopped()).toMatchObject([{ state: 'open', until: b.clock.now() + openMs }]);
    b.clock.advance(openMs);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect(b.eventsOf('breaker.closed')).toHaveLength(1);
  });

  it('one that neither succeeds nor fails leaves the try to the next', async () => {
    const b = await open(['snooze', 'ok']);
    expect(await b.next()).toMatchObject({ outcome: 'requeued', counted: false });
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect(b.eventsOf('breaker.closed')).toHaveLength(1);
    expect(b.ran).toEqual(['snooze', 'ok']);
  });

  it('one whose worker died leaves the try to the next', async () => {
    const b = mailing({
      handle(payload) {
        if (payload === 'fail') throw new Error('the server is down');
        return payload === 'hang' ? new Promise(() => {}) : null;
      },
    });
    await b.fail(3);
    b.clock.advance(openMs);
    await b.client.enqueue(b.mail, 'hang');
    void b.run(await b.take(30 * second));
    await new Promise(setImmediate);
    await b.client.enqueue(b.mail, 'ok');
    const { delayMs } = await b.next();
    expect(delayMs).toBe(30 * second);
    b.clock.advance(delayMs!);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect(b.eventsOf('breaker.closed')).toHaveLength(1);
  });

  it('all that wait are woken in a few calls, however many they are', async () => {
    const b = mailing();
    await b.fail(3);
    for (let n = 0; n < 300; n++) {
      await b.client.enqueue(b.mail, 'ok');
      await b.next();
    }
    const { limits } = b.client.stores;
    const calls: string[] = [];
    const stores = { ...b.client.stores, limits: noting(calls, limits!) };
    await closeBreaker({ ...b.client, stores }, 'mail');
    expect(await ready(b)).toBe(300);
    expect(calls).toEqual(['reset', 'reset', 'wake', 'wake']);
  });

  it('none waits longer than that, or ten minutes', async () => {
    const b = mailing({ breaker: { failures: 1, openMs: minute } });
    await b.fail(1);
    const delaysMs: (number | null)[] = [];
    for (let n = 0; n < 12; n++) {
      delaysMs.push((await b.tell('ok')).delayMs);
      b.clock.advance(1);
    }
    expect(delaysMs[0]).toBe(minute);
    expect(Math.max(...delaysMs.map(Number))).toBe(10 * minute);
  });
});

describe('closeBreaker()', () => {
  it('forgets the failures, and wakes what waits', async () => {
    const b = mailing();
    await b.fail(3);
    await b.tell('ok');
    expect(await closeBreaker(b.client, 'mail')).toBe(true);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect(await closeBreaker(b.client, 'mail')).toBe(false);
  });
});

describe('when the store of limits fails', () => {
  const failing = (limits: LimitStore, names: readonly (keyof LimitStore)[]): LimitStore =>
    Object.fromEntries(
      Object.entries(limits).map(([name, verb]) => [
        name,
        names.includes(name as keyof LimitStore) ? () => Promise.reject(new Error('no answer')) : verb,
      ]),
    ) as unknown as LimitStore;

  it.each([
    [['list'], { outcome: 'requeued', counted: false }],
    [['take', 'hold'], { outcome: 'dead-lettered', settled: true }],
  ] as const)('in %s, a job ends as %o', async (names, result) => {
    const mail = job({
      name: 'mail',
      retry: noRetry,
      breaker: { failures: 1, openMs },
      handle() {
        throw new Error('down');
      },
    });
    const { limits } = memory().stores!;
    const b = bench({ jobs: [mail], stores: { limits: failing(limits!, names) } });
    expect(await b.once(mail)).toMatchObject(result);
  });
});

describe('the breaker of a job', () => {
  const most = 'Expected at most 100 failures and an openMs of at most 86400000 in breaker of "mail"';

  it.each([
    [{ failures: 0, openMs }, 'Expected failures of breaker of "mail" to be an integer of 1 or more, got 0.'],
    [{ failures: 3 }, 'Expected openMs of breaker of "mail" to be an integer of 1000 or more, got 0.'],
    [{ failures: 101, openMs }, `${most}, got 101 and ${openMs}.`],
    [{ failures: 3, openMs: 86_400_001 }, `${most}, got 3 and 86400001.`],
    [{ failures: 3, openMs, x: 1 }, 'Unknown option "x" of breaker of "mail", only failures, openMs.'],
    ['often', 'Unknown option "0" of breaker of "mail", only failures, openMs.'],
  ])('is not %o', async (breaker, message) => {
    expect(await refusalText(() => job({ name: 'mail', breaker: breaker as Breaker }))).toBe(
      `CONFIG: ${message}`,
    );
  });

  it('is refused where nothing keeps it', async () => {
    const { stores, ...backend } = memory();
    const { limits: _, texts: __, ...rest } = stores!;
    const app = createApp({ jobs: [job({ name: 'mail', breaker: { failures: 3, openMs } })], signing: ring });
    expect(await refusalText(() => connect(app, { ...backend, stores: rest }))).toBe(
      'CONFIG: Job "mail" has a breaker, but backend "memory" keeps none: give it a store, for example sqliteStore().',
    );
  });
});
