/** Acks leave in groups, and which wait for which depends on whether the worker has something else to do. */

import { describe, expect, it } from 'vitest';
import type { Ack } from '../../../core/contract/queue.ts';
import { groupAcks } from '../../../core/kernel/worker/ack-groups.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { settle } from './kit.ts';

/** A backend that answers when it is told to. */
function open(worker: { isIdle: boolean }) {
  const calls: { tokens: string[]; answer(): void }[] = [];
  const send = (acks: readonly Ack[]): Promise<boolean[]> => {
    const { promise, resolve } = Promise.withResolvers<boolean[]>();
    calls.push({ tokens: acks.map(({ lease }) => lease.token), answer: () => resolve(acks.map(() => true)) });
    return promise;
  };
  const acks = groupAcks({ ack: send } as never, {
    send,
    isIdle: () => worker.isIdle,
    patienceMs: 1_000,
    failed: (error) => expect.unreachable(String(error)),
    clock: createVirtualClock(),
    random: () => 0,
  });
  const ack = async (...tokens: string[]) => {
    for (const token of tokens) void acks.ack({ lease: { token } } as never);
    await settle(2);
  };
  return { ack, acks, calls, sent: () => calls.map(({ tokens }) => tokens) };
}

describe('acks', () => {
  it('of one turn leave together', async () => {
    const { ack, sent } = open({ isIdle: true });
    await ack('a', 'b', 'c');
    expect(sent()).toEqual([['a', 'b', 'c']]);
  });

  it('wait for the answer to those before while the worker has jobs to run', async () => {
    const { ack, calls, sent } = open({ isIdle: false });
    await ack('a');
    await ack('b');
    await ack('c');
    expect(sent()).toEqual([['a']]);
    calls[0]!.answer();
    await settle(2);
    expect(sent()).toEqual([['a'], ['b', 'c']]);
  });

  it('do not wait for one answer, but for two, when it has none', async () => {
    const { ack, calls, sent } = open({ isIdle: true });
    await ack('a');
    await ack('b');
    await ack('c');
    expect(sent()).toEqual([['a'], ['b']]);
    calls[1]!.answer();
    await settle(2);
    expect(sent()).toEqual([['a'], ['b'], ['c']]);
  });

  it('that wait leave when it has run out of jobs', async () => {
    const worker = { isIdle: false };
    const { ack, acks, sent } = open(worker);
    await ack('a');
    await ack('b');
    worker.isIdle = true;
    acks.hurry();
    await settle(2);
    expect(sent()).toEqual([['a'], ['b']]);
  });
});
