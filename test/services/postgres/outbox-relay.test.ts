import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { frozenTimers, hurriedTimers } from '../../kit/clocks.ts';
import { message } from '../sqlite/messages.ts';
import { type Bench, busy, createBench, emptied, faulty, numbers } from './outbox-kit.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await createBench();
});
afterEach(() => bench.close());

const many = (count: number) => Array.from({ length: count }, (_, i) => message({ id: `m${i}` }));
const ids = (count: number) => many(count).map(({ id }) => id);
/** Pauses take a twentieth of their time. */
const fastClock: Clock = { now: Date.now, after: (delayMs, run) => systemClock.after(delayMs / 20, run) };
const failures = () => bench.events.filter(({ type }) => type === 'backend.failed');

/** Writers that each enqueue, one transaction after the other, into groups of their own; some roll back. Returns what was committed, by group. */
async function writeInGroups(writers: number, transactions: number): Promise<Map<string, string[]>> {
  const box = bench.open();
  const committed = new Map<string, string[]>();
  const write = async (writer: number) => {
    const random = numbers(writer);
    const client = await bench.pool.connect();
    let n = 0;
    for (let i = 0; i < transactions; i++) {
      const some = Array.from({ length: 1 + Math.floor(random() * 3) }, () => {
        const group = `g${writer}-${Math.floor(random() * 2)}`;
        return message({ id: `${group}-${n++}`, group });
      });
      const keeps = random() < 0.8;
      await client.query('BEGIN');
      await box.enqueueIn(client, some);
      await client.query(keeps ? 'COMMIT' : 'ROLLBACK');
      if (!keeps) continue;
      for (const { id, group } of some) committed.set(group!, [...(committed.get(group!) ?? []), id]);
    }
    client.release();
  };
  await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));
  return committed;
}

const byGroup = (arrived: readonly string[]): Map<string, string[]> =>
  Map.groupBy(arrived, (id) => id.slice(0, id.lastIndexOf('-')));

describe('the order per key', () => {
  it('is that of the transactions, with two relays and a target that takes batches in parts', async () => {
    const random = numbers(7);
    let underWay = 0;
    let most = 0;
    const oneAtATime = (to: QueueBackend): QueueBackend => ({
      ...to,
      async enqueue(messages) {
        most = Math.max(most, ++underWay);
        const results = await to.enqueue(messages);
        await new Promise(setImmediate); // long enough for another relay to get in, if it could
        underWay--;
        return results;
      },
    });
    const wrap = (to: QueueBackend) => faulty(oneAtATime(to), () => (random() < 0.02 ? busy() : null));
    const boxes = [bench.open(wrap), bench.open(wrap)];
    const relays = boxes.map((box) => bench.relay(box, { batchSize: 20, random: () => 0 }));
    const committed = await writeInGroups(8, 40);
    await emptied(boxes[0]!);

    const arrived = await bench.arrived();
    expect(new Set(arrived).size).toBe(arrived.length);
    expect(byGroup(arrived)).toEqual(committed);
    expect(most).toBe(1);
    expect(failures().length).toBeGreaterThan(0); // else nothing was taken in parts
    const sent = await Promise.all(relays.map((relay) => relay.stop()));
    expect(sent[0]!.sent + sent[1]!.sent).toBe(arrived.length);
  });
});

describe('a message that the target refuses', () => {
  const refuse = (id: string, error: () => LongshoreError) => (to: QueueBackend) =>
    faulty(to, (one) => (one.id === id ? error() : null));

  it('for good is kept with its error, told of, and holds up nobody', async () => {
    let refusing = true;
    const tooLarge = new LongshoreError('LIMIT', 'Expected less.');
    const box = bench.open((to) => faulty(to, ({ id }) => (refusing && id === 'm1' ? tooLarge : null)));
    await box.enqueue(many(4).map((one) => ({ ...one, group: 'g' })));
    const relay = bench.relay(box);
    await emptied(box);
    expect(await bench.arrived()).toEqual(['m0', 'm2', 'm3']);
    expect(await box.backlog()).toEqual({ waiting: 0, oldestMs: null, refused: 1 });

    const letter = {
      id: 'm1',
      queue: 'default',
      job: 'test',
      reason: 'rejected',
      error: 'LIMIT: Expected less.',
    };
    expect(await box.admin!.deadLetters.list({})).toMatchObject([{ ...letter, attempt: 0, body: '{}' }]);
    expect(await box.refused.list({ queue: 'default' })).toMatchObject([letter]);
    expect(await box.refused.list({ queue: 'other' })).toEqual([]);
    await expect
      .poll(() => bench.events.filter(({ type }) => type === 'outbox.refused'))
      .toMatchObject([{ backend: 'sqlite', id: 'm1', queue: 'default', error: { code: 'LIMIT' } }]);
    expect(failures()).toEqual([]);

    refusing = false;
    expect(await box.admin!.deadLetters.retry(['m1', 'unknown'])).toBe(1);
    await emptied(box);
    expect(await bench.arrived()).toEqual(['m0', 'm2', 'm3', 'm1']);
    expect((await box.backlog()).refused).toBe(0);
    expect(await relay.stop()).toEqual({ sent: 4, refused: 1 });
  });

  it('can be discarded', async () => {
    const box = bench.open(refuse('m0', () => new LongshoreError('OPTION', 'No.')));
    await box.enqueue(many(2));
    bench.relay(box);
    await emptied(box);
    expect(await box.admin!.deadLetters.discard(['m0'])).toBe(1);
    expect(await box.refused.list({})).toEqual([]);
    expect(await bench.arrived()).toEqual(['m1']);
  });

  it('again and again, though it takes others, is given up at last', async () => {
    const box = bench.open(refuse('m0', busy));
    const relay = bench.relay(box, { batchSize: 2, clock: fastClock });
    // Alone it is never given up: nobody knows whether the target takes anything at all.
    await box.enqueue(many(1));
    await expect.poll(() => failures().length).toBeGreaterThan(1);
    for (let n = 1; (await box.backlog()).refused === 0; n++) {
      await box.enqueue([message({ id: `m${n}` })]);
      await expect.poll(async () => (await box.backlog()).waiting).toBeLessThan(2);
    }
    const [letter] = await box.refused.list({});
    expect(letter).toMatchObject({ id: 'm0', error: expect.stringContaining('Given up after 25 tries') });
    const { sent, refused } = await relay.stop();
    expect(refused).toBe(1);
    expect(sent).toBeGreaterThanOrEqual(25);
  });

  it('because nobody can read it is kept as it is', async () => {
    const box = bench.open();
    await box.enqueue(many(1));
    for (const text of ['no JSON', 'null', '{"id":"x"}']) {
      await bench.pool.query(
        "INSERT INTO longshore.outbox (target, written_at, message) VALUES ('sqlite', 0, $1)",
        [text],
      );
    }
    await box.enqueue([message({ id: 'last' })]);
    bench.relay(box);
    await emptied(box);
    expect(await bench.arrived()).toEqual(['m0', 'last']);
    const kept = await box.refused.list({});
    expect(kept.map(({ body }) => body).toSorted()).toEqual(['no JSON', 'null', '{"id":"x"}']);
    expect(kept.every(({ error }) => error.startsWith('CORRUPT: '))).toBe(true);
  });
});

describe('a relay', () => {
  it('waits for a target that is down, without spinning, and goes on when it is back', async () => {
    const box = bench.open();
    await box.enqueue(many(10));
    const elsewhere = new DatabaseSync(bench.path);
    elsewhere.exec('BEGIN EXCLUSIVE'); // nobody else can write to the file now
    const clock = hurriedTimers();
    bench.relay(box, { clock });
    await expect.poll(() => failures().length).toBeGreaterThanOrEqual(8);
    expect((await box.backlog()).waiting).toBe(10);
    elsewhere.exec('COMMIT');
    elsewhere.close();
    await emptied(box);
    // Beside what ends a try that hangs, it asks for a pause after each that failed, and these grow to a second.
    const pauses = clock.asked.filter((ms) => ms < 2_000);
    expect(pauses.length).toBeGreaterThanOrEqual(failures().length - 1);
    expect(Math.min(...pauses)).toBeGreaterThan(20);
    expect(Math.max(...pauses.slice(4))).toBeGreaterThan(400);
    expect(failures()[0]).toMatchObject({
      backend: 'sqlite',
      during: 'relaying',
      error: { code: 'BACKEND' },
    });
    await expect
      .poll(() => bench.events.at(-1))
      .toMatchObject({ type: 'backend.recovered', backend: 'sqlite' });
    expect(await bench.arrived()).toEqual(ids(10));
  });

  it('does not wait for ever for an answer', async () => {
    let answers = false;
    const box = bench.open((to) => ({
      ...to,
      enqueue: (messages) => (answers ? to.enqueue(messages) : new Promise(() => {})),
    }));
    await box.enqueue(many(3));
    bench.relay(box, { clock: fastClock });
    await expect.poll(() => failures().length).toBeGreaterThan(1);
    expect(failures()[0]).toMatchObject({ backend: 'sqlite', error: { code: 'TIMEOUT' } });
    answers = true;
    await emptied(box);
    expect(await bench.arrived()).toEqual(ids(3));
  });

  it('sends again what was sent when its connection broke, and the target drops the copies', async () => {
    let breaks = true;
    const box = bench.open((to) => ({
      ...to,
      async enqueue(messages) {
        const results = await to.enqueue(messages);
        if (breaks) {
          breaks = false;
          const others =
            "datname = current_database() AND pid <> pg_backend_pid() AND state = 'idle in transaction'";
          const { rowCount } = await bench.pool.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`,
          );
          expect(rowCount).toBe(1);
        }
        return results;
      },
    }));
    await box.enqueue(many(10));
    const relay = bench.relay(box);
    await emptied(box);
    expect(await bench.arrived()).toEqual(ids(10));
    expect((await relay.stop()).sent).toBe(10);
    expect(bench.events).toMatchObject([
      { type: 'backend.failed', backend: 'postgres', during: 'relaying', error: { code: 'BACKEND' } },
      { type: 'backend.recovered', backend: 'postgres' },
    ]);
  });

  it('moves 10,000 rows in large steps', async () => {
    let calls = 0;
    const box = bench.open((to) => ({
      ...to,
      enqueue(messages) {
        calls++;
        return to.enqueue(messages);
      },
    }));
    for (let n = 0; n < 10_000; n += 1_000)
      await box.enqueue(
        Array.from({ length: 1_000 }, (_, i) => message({ id: `m${n + i}`, group: `g${i % 500}` })),
      );
    const relay = bench.relay(box);
    await emptied(box);
    expect(calls).toBeLessThanOrEqual(25);
    expect(await relay.stop()).toEqual({ sent: 10_000, refused: 0 });
    // Its groups take turns when they are taken from the queue.
    const arrived = (await bench.arrived()).sort((a, b) => Number(a.slice(1)) - Number(b.slice(1)));
    expect(arrived).toEqual(Array.from({ length: 10_000 }, (_, i) => `m${i}`));
  });

  it('takes no more than a few large rows at a time', async () => {
    const sizes: number[] = [];
    const box = bench.open((to) => ({
      ...to,
      enqueue: (messages) => {
        sizes.push(messages.length);
        return to.enqueue(messages);
      },
    }));
    const large = many(20).map((one) => ({ ...one, body: 'x'.repeat(1_000_000) }));
    await box.enqueue(large);
    bench.relay(box);
    await emptied(box);
    expect(sizes).toEqual([9, 9, 2]);
  });

  it.each([
    ['hears of a row', true, frozenTimers],
    ['finds a row by looking where it cannot listen', false, systemClock],
  ])('%s', async (_, listen, clock) => {
    const box = bench.open((to) => to, { listen });
    const writer = bench.open((to) => to, { listen });
    const relay = bench.relay(box, { clock });
    for (let n = 0; n < 5; n++) {
      const id = `${listen}-${n}`;
      await bench.transaction((tx) => writer.enqueueIn(tx, [message({ id })]));
      await expect.poll(bench.arrived, { interval: 2 }).toContain(id);
    }
    await relay.stop();
  });

  it('that is stopped writes down what was sent, and leaves the rest', async () => {
    const sending = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const box = bench.open((to) => ({
      ...to,
      async enqueue(messages) {
        sending.resolve();
        await go.promise;
        return to.enqueue(messages);
      },
    }));
    await box.enqueue(many(5).map((one) => ({ ...one, group: 'g' })));
    const relay = bench.relay(box);
    await sending.promise;
    const stopped = relay.stop();
    go.resolve();
    expect(await stopped).toEqual({ sent: 1, refused: 0 });
    expect(await bench.arrived()).toEqual(['m0']);
    expect((await box.backlog()).waiting).toBe(4);
  });

  it('ends with a signal, and with the backend it belongs to', async () => {
    const box = bench.open();
    const controller = new AbortController();
    const [first, second] = [bench.relay(box, { signal: controller.signal }), bench.relay(box)];
    await box.enqueue(many(1));
    await emptied(box);
    controller.abort();
    await first.done;
    await box.close();
    await second.done;
    const late = bench.relay(box);
    expect(await late.done).toEqual({ sent: 0, refused: 0 });
    const never = bench.relay(bench.open(), { signal: AbortSignal.abort() });
    expect(await never.done).toEqual({ sent: 0, refused: 0 });
    expect(failures()).toEqual([]);
  });

  it('ends when somebody closes the database under it', async () => {
    const box = bench.open();
    const relay = bench.relay(box);
    await box.enqueue(many(1));
    await emptied(box);
    await box.source.close();
    await relay.done;
    expect(failures()).toEqual([]);
  });
});
