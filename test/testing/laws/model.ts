/**
 * Random sequences of everything that can happen to a queue, compared step by step with a reference queue. While the
 * two agree, no message is lost, given out twice, before it is due or out of order, and none is settled by a lease
 * that is stale. For backends whose time is ours to move.
 */

import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import type { Harness, Runner } from './harness.ts';
import { createKit, hour, queues } from './kit.ts';
import { type Step, step, type World } from './model-steps.ts';
import { createReference } from './reference.ts';

export interface ModelOptions {
  /** How many sequences. @default 1_000; 20_000 with LONG=1 in the environment */
  readonly sequences?: number;
  /** Repeats the run that failed with this seed; fast-check prints it. @default SEED of the environment */
  readonly seed?: number;
}

const { LONG, SEED } = process.env;

export function describeModel(
  name: string,
  harness: Harness,
  runner: Runner,
  { sequences = LONG ? 20_000 : 1_000, seed = SEED ? Number(SEED) : undefined }: ModelOptions = {},
): void {
  runner.describe(`${name} agrees with the reference queue`, () => {
    runner.it(`in ${sequences} random sequences of operations`, async () => {
      const property = fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), (steps) =>
        play(harness, steps),
      );
      await fc.assert(property, { numRuns: sequences, ...(seed === undefined ? {} : { seed }) });
    });
  });
}

async function play(harness: Harness, steps: readonly Step[]): Promise<void> {
  const bench = await harness.open();
  try {
    const t = createKit(bench, 0, harness.lacks);
    const messages = new Map<string, OutgoingMessage>();
    const { grainMs = 1, storeStandsAlone: hasNoRecords = false } = harness;
    const world: World = {
      t,
      reference: createReference(t.now, { retriedKeepPlace: t.lacks('place of the retried') }),
      messages,
      leases: [],
      whole: (ms) => Math.ceil(ms / grainMs) * grainMs,
      hasRecords: !hasNoRecords,
    };
    for (const { run } of steps) {
      await run(world);
      await compareStats(world);
    }
    await finish(world);
  } finally {
    await bench.close();
  }
}

const unused = { ready: 0, delayed: 0, leased: 0, dead: 0, paused: false };

async function compareStats({ t, reference }: World): Promise<void> {
  const all = await t.admin.stats();
  for (const queue of queues) {
    // A queue that was not used yet may be missing.
    const stats = all.find((one) => one.queue === queue) ?? unused;
    const { ready, delayed, leased, dead, paused } = stats;
    assert.deepEqual({ ready, delayed, leased, dead, paused }, reference.stats(queue), `stats of ${queue}`);
  }
}

/** Lets everything that still lives run to its end: each message must be accounted for. */
async function finish(world: World): Promise<void> {
  const { t, reference, messages } = world;
  for (const queue of queues) {
    await t.admin.setPaused(queue, false);
    reference.resume(queue);
  }
  await t.advance(2 * hour);
  for (const queue of queues) assert.equal(await t.backend.reapExpired(queue), reference.reap(queue));
  const expected = reference.fetch(queues, 1_000, hour);
  const leases = await t.takeAll(1_000, { queues });
  assert.deepEqual(
    leases.map(({ body }) => body),
    expected.map(({ id }) => messages.get(id)!.body),
  );
  const answers = await t.backend.ack(leases.map((lease) => ({ lease })));
  assert.deepEqual(
    answers,
    expected.map(({ claim }) => reference.ack(claim)),
  );
  for (const job of world.hasRecords ? reference.jobs : []) {
    const record = await t.stores.records.get(job.id);
    assert.equal(record?.status, reference.statusOf(job), `status of ${job.id}`);
  }
  const dead = await t.admin.deadLetters.list({ max: 1_000 });
  assert.deepEqual(
    dead.map(({ id, body }) => [id, body]).sort(),
    reference
      .deadIds()
      .map((id) => [id, messages.get(id)!.body])
      .sort(),
  );
}
