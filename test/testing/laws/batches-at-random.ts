/** Random sequences of calls against a model that keeps every child by itself. */

import assert from 'node:assert/strict';
import type { BatchStore } from '../../../core/contract/derived/batches.ts';
import type { Law } from './law.ts';

interface Model {
  readonly id: string;
  sender: string;
  sent: number;
  planned: number;
  sealed: boolean;
  round: number;
  complete: boolean;
  cancelled: boolean;
  readonly ends: Map<number, 'ok' | 'bad'>;
}

/** Small and repeatable (mulberry32): a failure names its seed. */
function randomOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const sequences = 6;
const steps = 40;

export function randomBatchLaws(law: Law): void {
  law('random sequences of calls agree with a model', async (t) => {
    const stores = t.openings.map(({ stores }) => stores!.batches!);
    for (let n = 0; n < sequences; n++) {
      const seed = Math.floor(Math.random() * 2 ** 31);
      await sequence(stores, seed).catch((error) => {
        throw new Error(`seed ${seed}: ${error.message}`, { cause: error });
      });
    }
  });
}

async function sequence(stores: readonly BatchStore[], seed: number): Promise<void> {
  const random = randomOf(seed);
  const store = () => stores[random(stores.length)]!;
  const batch: Model = {
    ...{ id: `r-${process.pid}-${Date.now().toString(36)}-${seed}`, sender: '', sent: 0, planned: 0 },
    ...{ sealed: false, round: 1, complete: false, cancelled: false, ends: new Map() },
  };
  await open(store(), batch, 'first');
  for (let step = 0; step < steps; step++) {
    const at = random(20);
    if (at === 0) await open(store(), batch, `sender ${step}`);
    else if (at < 5) await send(store(), batch, random);
    else if (at === 5) await cancel(store(), batch, random);
    else if (at === 6) await reopen(store(), batch, random);
    else await end(store(), batch, random);
    await same(store(), batch);
  }
}

async function open(store: BatchStore, batch: Model, sender: string): Promise<void> {
  await store.open({ id: batch.id, plan: '', sender, planned: 0 });
  if (!batch.sealed) batch.sender = sender;
}

const numbersOf = (batch: Model, which: 'ok' | 'bad' | undefined): number[] =>
  Array.from({ length: batch.planned }, (_, n) => n).filter((n) => batch.ends.get(n) === which);

const isOver = ({ sealed, sent, ends }: Model): boolean => sealed && ends.size === sent;

async function send(store: BatchStore, batch: Model, random: (below: number) => number): Promise<void> {
  const isStale = random(5) === 0;
  const sealed = random(6) === 0;
  const sent = batch.planned;
  const planned = sealed ? sent : sent + random(12);
  const answer = await store.sent(batch.id, isStale ? 'nobody' : batch.sender, { sent, planned, sealed });
  assert.equal(answer !== null, !isStale && !batch.sealed);
  if (!answer) return;
  Object.assign(batch, { sent, planned, sealed });
  batch.complete = isOver(batch);
}

async function end(store: BatchStore, batch: Model, random: (below: number) => number): Promise<void> {
  const ends = Array.from({ length: random(6) }, () => ({
    batch: batch.id,
    number: random(batch.planned + 3),
    failed: random(3) === 0,
  }));
  const wasComplete = batch.complete;
  const named = await store.ended(ends);
  if (!wasComplete)
    for (const { number, failed } of ends) {
      if (number >= batch.planned) continue;
      if (!failed) batch.ends.set(number, 'ok');
      else if (!batch.ends.has(number)) batch.ends.set(number, 'bad');
    }
  batch.complete ||= isOver(batch);
  assert.deepEqual(named, batch.complete && !wasComplete ? [batch.id] : []);
}

async function cancel(store: BatchStore, batch: Model, random: (below: number) => number): Promise<void> {
  if (random(3) > 0) return;
  const answer = await store.cancel(batch.id);
  assert.equal(answer === null, batch.complete);
  if (batch.complete) return;
  if (!batch.sealed) batch.sent = batch.planned;
  Object.assign(batch, { sealed: true, cancelled: true });
  batch.complete = isOver(batch);
}

async function reopen(store: BatchStore, batch: Model, random: (below: number) => number): Promise<void> {
  const numbers = Array.from({ length: batch.planned }, (_, n) => n).filter(() => random(2) === 0);
  const bad = numbers.filter((number) => batch.ends.get(number) === 'bad');
  assert.equal(await store.reopen(batch.id, numbers), bad.length);
  if (bad.length === 0) return;
  for (const number of bad) batch.ends.delete(number);
  if (batch.complete) batch.round++;
  Object.assign(batch, { complete: false, cancelled: false });
}

async function same(store: BatchStore, batch: Model): Promise<void> {
  const state = (await store.get(batch.id))!;
  assert.deepEqual(
    {
      counts: [state.succeeded, state.failed],
      sent: [state.sent, state.planned, state.sealed],
      round: state.round,
      complete: state.completedAt !== null,
      cancelled: state.cancelledAt !== null,
      unended: await store.unended(batch.id, 0, 1_000),
      failed: await store.failed(batch.id, 0, 1_000),
    },
    {
      counts: [numbersOf(batch, 'ok').length, numbersOf(batch, 'bad').length],
      sent: [batch.sent, batch.planned, batch.sealed],
      round: batch.round,
      complete: batch.complete,
      cancelled: batch.cancelled,
      unended: numbersOf(batch, undefined),
      failed: numbersOf(batch, 'bad'),
    },
  );
}
