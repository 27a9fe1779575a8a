/** Watching for the end of a job. */

import assert from 'node:assert/strict';
import type { EndWatch, RecordStore } from '../../../core/contract/store.ts';
import { hour, type Kit, mail, minute } from './kit.ts';
import type { Law, LawOptions } from './law.ts';

/** Real time: a store that tells of an end by another connection takes a moment. Far below it on every machine. */
const longestMs = 10_000;

interface Watching extends EndWatch {
  /** How often it was asked to look. */
  readonly looks: number;
  /** Resolves once it was asked `looks` times. */
  told(looks: number): Promise<void>;
}

/** Resolves when the store says that it hears, or at once for a store that only hears of its own process. */
async function watching(
  records: RecordStore,
  job: { readonly id: string; readonly queue: string },
  hearsAll: boolean,
): Promise<Watching> {
  assert.ok(records.watchEnd, 'the store hears of no ends, and its harness declares no lack of it');
  let looks = 0;
  let changed = Promise.withResolvers<void>();
  const watch = records.watchEnd(job, () => {
    looks++;
    changed.resolve();
    changed = Promise.withResolvers();
  });
  async function until(holds: () => boolean, what: string): Promise<void> {
    const late = Promise.withResolvers<never>();
    late.promise.catch(() => {});
    const timer = setTimeout(
      () => late.reject(new Error(`Expected ${what} within ${longestMs} ms.`)),
      longestMs,
    );
    try {
      while (!holds()) await Promise.race([changed.promise, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }
  if (hearsAll) await until(() => watch.hears, 'the store to hear of ends');
  const before = looks;
  return {
    get hears() {
      return watch.hears;
    },
    stop: () => watch.stop(),
    get looks() {
      return looks - before;
    },
    told: (count) => until(() => looks - before >= count, `to be told ${count} times`),
  };
}

const ends: Readonly<Record<string, (t: Kit, id: string) => Promise<unknown>>> = {
  'is completed': async (t) => t.ack(await t.take()),
  'is a dead letter': async (t) =>
    t.backend.abandon(await t.take(), { reason: 'exhausted', error: 'HANDLER: no' }),
  'has expired': async (t) =>
    t.backend.abandon(await t.take(), { reason: 'expired', error: 'EXPIRED: too late' }),
  'was cancelled while it ran': async (t) =>
    t.backend.abandon(await t.take(), { reason: 'cancelled', error: 'CANCELLED: not wanted' }),
};

/** Ends that only the queue itself knows. */
const endsOfQueue: typeof ends = {
  'is released after it was cancelled': async (t, id) => {
    const lease = await t.take();
    await t.stores.records.cancel(id);
    await t.backend.nack(lease, { delayMs: 0, countAttempt: true });
  },
  'was cancelled while it waited': async (t, id) => t.stores.records.cancel(id),
  'was cancelled and its lease has ended': async (t, id) => {
    await t.take({ leaseMs: minute });
    await t.stores.records.cancel(id);
    await t.advance(minute);
    await t.reap();
  },
};

/** @param hearsAll whether ends in other processes are heard */
export function endLaws(law: Law, hearsAll: boolean): void {
  const hears = (what: string, end: (typeof ends)[string], options: LawOptions = {}): void =>
    law(
      `whoever waits for a job hears that it ${what}`,
      async (t) => {
        const job = await t.put();
        const watch = await watching(t.stores.records, job, hearsAll);
        await end(t, job.id);
        await watch.told(1);
        watch.stop();
        assert.notEqual((await t.stores.records.get(job.id))?.finishedAt, null);
      },
      options,
    );

  for (const [what, end] of Object.entries(ends)) hears(what, end);
  for (const [what, end] of Object.entries(endsOfQueue)) hears(what, end, { knownByQueue: true });
  const remove: (typeof ends)[string] = (t, id) => t.backend.pending!.remove({ id, queue: mail });
  hears('was removed', remove, { knownByQueue: true, needs: 'waiting jobs' });

  law('all that wait for a job hear of its end, and those that have stopped do not', async (t) => {
    const job = await t.put();
    const { records } = t.stores;
    const watches = [];
    for (let i = 0; i < 3; i++) watches.push(await watching(records, job, hearsAll));
    const [first, second, gone] = watches;
    const before = gone!.looks;
    gone!.stop();
    await t.ack(await t.take());
    await first!.told(1);
    await second!.told(1);
    assert.equal(gone!.looks, before);
    for (const watch of watches) watch.stop();
  });

  law('a job that goes on and another that ends are not told of', async (t) => {
    const watched = await t.put({ priority: 0 });
    await t.put({ priority: 9 });
    const watch = await watching(t.stores.records, watched, hearsAll);
    const lease = await t.take();
    await t.backend.nack(lease, { delayMs: hour, countAttempt: true });
    await t.ack(await t.take());
    const last = await t.put();
    const other = await watching(t.stores.records, last, hearsAll);
    await t.ack(await t.take());
    await other.told(1); // whatever was sent before has arrived, too
    assert.equal(watch.looks, 0);
    for (const one of [watch, other]) one.stop();
  });

  law('many jobs at once are each told of', async (t) => {
    const jobs = [];
    for (let i = 0; i < 100; i++) jobs.push(await t.put());
    const watches = await Promise.all(jobs.map((job) => watching(t.stores.records, job, hearsAll)));
    const leases = await t.takeAll(jobs.length);
    assert.equal(leases.length, jobs.length);
    await t.backend.ack(leases.map((lease) => ({ lease })));
    await Promise.all(watches.map((watch) => watch.told(1)));
    for (const watch of watches) watch.stop();
  });

  if (!hearsAll) return;

  law('an end is heard in another process', async (t) => {
    if (t.openings.length < 2) return;
    const job = await t.put();
    const watch = await watching(t.openings[1]!.stores!.records, job, true);
    await t.ack(await t.take());
    await watch.told(1);
    watch.stop();
  });
}
