/** Laws of waking: a fetch that waits hears of every step that makes a job ready, whichever process makes it. */

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { GroupOrder, JobLease, OutgoingMessage, QueueBackend } from '../../../core/contract/queue.ts';
import { movable } from '../../../local/move/contract.ts';
import { bodiesOf, hour, type Kit, mail, minute, second } from './kit.ts';
import type { Law, LawOptions } from './law.ts';

/** A tenth of the 2 s after which an idle worker looks by itself, though it has heard nothing. */
const mostMs = 200;

/** Resolves with what a fetch that waited was given because of `act`, with next to no time passing on the backend's clock. */
export async function woken(t: Kit, act: () => Promise<unknown>): Promise<JobLease[]> {
  let given: JobLease[] | null = null;
  const controller = new AbortController();
  const { signal } = controller;
  const fetched = t.backend
    .fetch({ queues: [mail], max: 10, leaseMs: minute, waitMs: hour, signal })
    .then((leases) => {
      given = leases;
    });
  // It has looked in vain before anything is done.
  for (let i = 0; i < 3; i++) await t.nothingComes([mail]);
  assert.equal(given, null, 'the fetch must wait while there is nothing to give');
  await act();
  // Sockets may take longer and longer, while the queue's own clock hardly moves.
  for (let ms = 0; ms < mostMs && given === null; ms++) {
    await sleep(1 + ms / 4);
    await t.advance(1);
  }
  const inTime = given as JobLease[] | null;
  controller.abort();
  await fetched;
  assert.ok(inTime, `the fetch slept on for ${mostMs} ms`);
  return inTime;
}

/** Makes sure that the fetches that follow hear other processes: what is found because a connection has just come proves nothing. */
export async function untilHearing(t: Kit): Promise<void> {
  const peer = t.openings.at(-1)!;
  if (peer === t.backend) return;
  const first = t.message();
  const [lease] = await woken(t, () => peer.enqueue([first]));
  assert.equal(lease!.body, first.body);
  assert.equal(await t.ack(lease!), true);
}

interface Step {
  /** Makes a job ready. */
  act(): Promise<unknown>;
  /** The message that the fetch must return. */
  readonly ready: Pick<OutgoingMessage, 'body'>;
}

type Prepare = (t: Kit, by: QueueBackend) => Promise<Step>;

/** Takes the one that is ready. */
async function taken(from: QueueBackend, leaseMs = 10 * minute): Promise<JobLease> {
  const [lease] = await from.fetch({ queues: [mail], max: 1, leaseMs, waitMs: 0 });
  assert.ok(lease, 'expected a message to be given out, got none');
  return lease;
}

/** Each step has a group of its own. */
const newGroup = (t: Kit, order: GroupOrder) => ({ group: t.message().id, order });

/** Two of an ordered group, the first of which is leased. */
async function headTaken(t: Kit, by: QueueBackend, leaseMs?: number) {
  const ordered = newGroup(t, 'wait');
  const head = await t.put(ordered);
  const ready = await t.put(ordered);
  return { head, ready, lease: await taken(by, leaseMs) };
}

/** The same, with the first one waiting for its next attempt. */
async function headDelayed(t: Kit, by: QueueBackend) {
  const { head, ready, lease } = await headTaken(t, by);
  assert.equal(await by.nack(lease, { delayMs: hour, countAttempt: true }), true);
  return { head, ready };
}

const died = { reason: 'exhausted', error: 'HANDLER: no' } as const;
const waiting = ({ queue, id }: OutgoingMessage) => ({ queue, id });

export function wakingLaws(law: Law): void {
  const step = (name: string, prepare: Prepare, options?: LawOptions): void =>
    law(
      `${name} wakes a fetch that waits, of this process and of another`,
      async (t) => {
        await untilHearing(t);
        for (const by of t.openings) {
          const { act, ready } = await prepare(t, by);
          const leases = await woken(t, act);
          assert.deepEqual(bodiesOf(leases), [ready.body]);
          await t.backend.ack(leases.map((lease) => ({ lease })));
        }
      },
      options,
    );

  step('an enqueue', async (t, by) => {
    const ready = t.message();
    return { act: () => by.enqueue([ready]), ready };
  });
  step('a release', async (t, by) => {
    const ready = await t.put();
    const lease = await taken(by);
    return { act: () => by.nack(lease, { delayMs: 0, countAttempt: false }), ready };
  });
  step(
    'resuming a queue',
    async (t, by) => {
      await by.admin!.setPaused(mail, true);
      const ready = await t.put();
      return { act: () => by.admin!.setPaused(mail, false), ready };
    },
    { needs: 'administration' },
  );
  step(
    'retrying a dead letter',
    async (t, by) => {
      const ready = await t.put();
      await by.abandon(await taken(by), died);
      return { act: () => by.admin!.deadLetters.retry([ready.id]), ready };
    },
    { needs: 'dead letters' },
  );
  step(
    'reaping',
    async (t, by) => {
      const ready = await t.put();
      await taken(by, 10 * second);
      await t.advance(11 * second);
      return { act: () => by.reapExpired(mail), ready };
    },
    { takesTime: true },
  );
  stepsOfWaitingJobs(step);
  stepsOfGroups(step);
}

type Declare = (name: string, prepare: Prepare, options?: LawOptions) => void;

function stepsOfWaitingJobs(step: Declare): void {
  const needs = { needs: 'waiting jobs' } as const;
  step(
    'promoting a job',
    async (t, by) => {
      const ready = await t.put({ notBefore: t.now() + hour });
      return { act: () => by.pending!.change([waiting(ready)], { notBefore: null }), ready };
    },
    needs,
  );
  step(
    'a change of its time',
    async (t, by) => {
      const ready = await t.put({ notBefore: t.now() + hour });
      return { act: () => by.pending!.change([waiting(ready)], { notBefore: null }), ready };
    },
    needs,
  );
  step(
    'releasing a job that was held for a move',
    async (t, by) => {
      const transfer = movable(by).transfer!;
      const ready = await t.put();
      await transfer.hold(mail, 10);
      return { act: () => transfer.release(mail, [ready.id]), ready };
    },
    { needs: 'transfer' },
  );
}

function stepsOfGroups(law: Declare): void {
  const needs = ['groups', 'rank of a retry', 'waiting jobs', 'transfer'] as const;
  const step = (name: string, prepare: Prepare): void => law(name, prepare, { needs });

  step('an ack of the first of an ordered group', async (t, by) => {
    const { ready, lease } = await headTaken(t, by);
    return { act: () => by.ack([{ lease }]), ready };
  });
  step('an ack that fetches from another queue', async (t, by) => {
    const { ready, lease } = await headTaken(t, by);
    const request = { queues: ['reports'], max: 1, leaseMs: minute };
    const { ackAndFetch } = by.hints ?? {};
    return {
      act: async () => (ackAndFetch ? ackAndFetch([{ lease }], request) : by.ack([{ lease }])),
      ready,
    };
  });
  step('a dead letter that was the first of an ordered group', async (t, by) => {
    const { ready, lease } = await headTaken(t, by);
    return { act: () => by.abandon(lease, died), ready };
  });
  step('a retry that steps aside', async (t, by) => {
    const aside = newGroup(t, 'step-aside');
    await t.put(aside);
    const ready = await t.put(aside);
    const lease = await taken(by);
    return { act: () => by.nack(lease, { delayMs: hour, countAttempt: true }), ready };
  });
  step('cancelling the first of an ordered group', async (t, by) => {
    const { head, ready } = await headDelayed(t, by);
    return { act: () => by.stores!.records.cancel(head.id), ready };
  });
  step('removing the first of an ordered group', async (t, by) => {
    const { head, ready } = await headDelayed(t, by);
    return { act: () => by.pending!.remove(waiting(head)), ready };
  });
  step('the release of a job that was cancelled while it ran', async (t, by) => {
    const { head, ready, lease } = await headTaken(t, by);
    await by.stores!.records.cancel(head.id);
    return { act: () => by.nack(lease, { delayMs: hour, countAttempt: true }), ready };
  });
  step('reaping a job that was cancelled while it ran', async (t, by) => {
    const { head, ready } = await headTaken(t, by, 10 * second);
    await by.stores!.records.cancel(head.id);
    await t.advance(11 * second);
    return { act: () => by.reapExpired(mail), ready };
  });
  step('moving the first of an ordered group away', async (t, by) => {
    const transfer = movable(by).transfer!;
    const ordered = newGroup(t, 'wait');
    const head = await t.put(ordered);
    await transfer.hold(mail, 10);
    const ready = await t.put(ordered);
    return { act: () => transfer.remove(mail, [head.id]), ready };
  });
}
