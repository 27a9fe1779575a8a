import { describe, expect, it } from 'vitest';
import type { OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { sharing } from '../../../local/backends/shared/sharing.ts';
import { message } from '../../services/sqlite/messages.ts';

/** What a turn of the event loop leaves for the next one is done too. */
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const mostMessages = 1_000;

/** A store that answers when it is told to, and what it was given. */
function open() {
  const groups: { ids: string[]; answer(): void }[] = [];
  const enqueue = sharing(mostMessages, (messages: readonly OutgoingMessage[]) => {
    const { promise, resolve } = Promise.withResolvers<SendResult[]>();
    const ids = messages.map(({ id }) => id);
    groups.push({ ids, answer: () => resolve(ids.map((id) => ({ ok: true, id, duplicate: false }))) });
    return promise;
  });
  const sizes = () => groups.map(({ ids }) => ids.length);
  const send = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => enqueue([message({ id: `${from + i}` })]));
  return { groups, sizes, send, enqueue };
}

describe('calls of enqueue', () => {
  it('share a group when they come in one turn, each with its own results', async () => {
    const { groups, sizes, send, enqueue } = open();
    const sent = [...send(0, 3), enqueue([message({ id: 'a' }), message({ id: 'b' })])];
    await turn();
    expect(sizes()).toEqual([5]);
    groups[0]!.answer();
    const ids = (await Promise.all(sent)).map((results) => results.map(({ id }) => id));
    expect(ids).toEqual([['0'], ['1'], ['2'], ['a', 'b']]);
  });

  it('leave in two groups when they are many, so that one is under way while the callers of the other go on', async () => {
    const { groups, sizes, send } = open();
    void send(0, 50);
    await Promise.resolve();
    expect(sizes()).toEqual([25]);
    await turn();
    expect(sizes()).toEqual([25, 25]);
    groups[0]!.answer();
    await turn();
    void send(50, 25); // they fill the free slot: nothing is to be halved
    await turn();
    expect(sizes()).toEqual([25, 25, 25]);
    expect(groups.flatMap(({ ids }) => ids)).toEqual(Array.from({ length: 75 }, (_, i) => `${i}`));
  });

  it('wait while two groups are under way, and then leave together', async () => {
    const { groups, sizes, send } = open();
    void send(0, 50);
    await turn();
    void send(50, 40);
    await turn();
    void send(90, 10);
    await turn();
    expect(sizes()).toEqual([25, 25]);
    groups[1]!.answer();
    await turn();
    expect(sizes()).toEqual([25, 25, 50]);
  });

  it('grow no further than a group may', async () => {
    const { groups, sizes, send } = open();
    void send(0, 5_000);
    await turn();
    expect(sizes()).toEqual([1_000, 1_000]);
    for (const group of groups) group.answer();
    await turn();
    expect(sizes()).toEqual([1_000, 1_000, 1_000, 1_000]);
  });
});
