/** Jobs with many steps: what each step costs, and the pieces that a store keeps of them. */

import { describe, expect, it } from 'vitest';
import type { StepStore } from '../../../core/contract/derived/steps.ts';
import { deliverTo, StepLog } from '../../../core/features/steps/log.ts';
import { sealedSteps } from '../../../core/features/steps/seal.ts';
import { stepsOf } from '../../../core/features/steps/show.ts';
import { mostBytes, mostOfJob, type RememberedStep, stepsIn } from '../../../core/features/steps/stored.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { bench, job, ring } from './kit.ts';

const day = 86_400_000;

function stage() {
  const clock = createVirtualClock();
  const {
    texts,
    steps: raw,
    records,
  } = memory({ clock }).stores! as Required<NonNullable<ReturnType<typeof memory>['stores']>>;
  const calls: { verb: string; bytes: number }[] = [];
  const counted: StepStore = {
    read(name) {
      calls.push({ verb: 'read', bytes: 0 });
      return raw.read(name);
    },
    write(name, text, ...rest) {
      calls.push({ verb: 'write', bytes: Buffer.byteLength(text) });
      return raw.write(name, text, ...rest);
    },
    remove(...given) {
      calls.push({ verb: 'remove', bytes: 0 });
      return raw.remove(...given);
    },
  };
  const store = sealedSteps(counted, { keyRing: () => ring, clock });
  let attempts = 0;
  const open = async (id = 'a') => {
    const attempt = ++attempts;
    const who = { id, owner: `owner-${attempt}`, attempt, leaseUntil: clock.now() + 60_000 + attempt };
    return (await StepLog.open(store, clock, who))!;
  };
  const put = async (log: StepLog, from: number, to: number, value?: unknown) => {
    for (let n = from; n < to; n++) {
      const step = { name: `step-${n}`, at: clock.now(), ...(value !== undefined && { value }) };
      expect(await log.put(step.name, () => step)).toEqual(step);
    }
  };
  const names = async () => (await texts.list({ prefix: '', max: 1_000 })).map(({ name }) => name);
  return { clock, raw, store, texts, records, calls, open, put, names };
}

const namesOf = (steps: readonly RememberedStep[]): string[] => steps.map(({ name }) => name);

describe('a step of a job with thousands', () => {
  it('writes as much as one of the first, in one write, and each attempt reads few texts', async () => {
    const { open, put, calls, names } = stage();
    const log = await open();
    const cost = async (from: number, to: number) => {
      calls.length = 0;
      await put(log, from, to);
      const bytes = calls.reduce((sum, call) => sum + call.bytes, 0) / (to - from);
      const writes = calls.filter(({ verb }) => verb === 'write').length / (to - from);
      return { bytes, writes, reads: calls.filter(({ verb }) => verb === 'read').length };
    };
    const early = await cost(0, 100);
    await put(log, 100, 4_000);
    const late = await cost(4_000, 6_000);
    expect(early).toMatchObject({ writes: 1, reads: 0 });
    expect(late.reads).toBe(0);
    expect(late.writes).toBeLessThan(1.02);
    expect(late.bytes / early.bytes).toBeLessThan(1.5);
    calls.length = 0;
    const next = await open();
    expect(namesOf(next.steps)).toEqual(Array.from({ length: 6_000 }, (_, n) => `step-${n}`));
    expect(calls.filter(({ verb }) => verb === 'read').length).toBeLessThan(12);
    expect(await log.put('late', () => ({ name: 'late', at: 1 }))).toBeNull();
    await next.forget();
    expect(await names()).toEqual([]);
  });

  it('leaves open waits where an event finds them', async () => {
    const { open, put, clock, store, raw } = stage();
    const log = await open();
    const wait = { name: 'wait', at: clock.now(), until: clock.now() + day, event: 'go', key: null };
    await log.put('wait', () => wait);
    await put(log, 0, 1_000);
    const got = { at: clock.now(), payload: 'here' };
    expect(await deliverTo(store, clock, 'a', { event: 'go', key: null, got })).toEqual(['wait']);
    await put(log, 1_000, 1_300);
    expect(stepsIn((await raw.read('job:a'))!.text)).not.toContainEqual({ ...wait, got });
    const next = await open();
    expect(next.find('wait')).toEqual({ ...wait, got });
    expect(next.steps).toHaveLength(1_301);
    expect(await next.put('step-7', () => ({ name: 'step-7', at: 1, value: 'again' }))).toMatchObject({
      at: wait.at,
    });
  });
});

describe('pieces of steps', () => {
  const many = (value: string) => {
    const failed = new Set<string>();
    return job({
      maxRetries: 5,
      async handle(_, ctx) {
        for (let n = 0; n < 30; n++) await ctx.step(`s-${n}`, () => `${value} of ${ctx.id}`);
        if (!failed.has(ctx.id)) throw failed.add(ctx.id) && new Error('later');
      },
    });
  };
  const large = 'x'.repeat(20_000);
  const pieces = async (b: ReturnType<typeof bench>) =>
    b.client.stores.texts!.list({ prefix: 'piece:', max: 100 });

  it('are shown to people, and go with a cancel, an ack, and nothing else', async () => {
    const work = many(large);
    const b = bench({ jobs: [work] });
    await b.once(work);
    expect((await pieces(b)).length).toBeGreaterThan(1);
    const { steps: shown, problem } = await stepsOf(b.client.stores, 'id-1', b.clock.now());
    expect(problem).toBeNull();
    expect(shown.map(({ name }) => name)).toEqual(Array.from({ length: 30 }, (_, n) => `s-${n}`));
    await b.client.cancel('id-1');
    expect(await pieces(b)).toEqual([]);
    await b.once(work);
    b.clock.advance(day);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    expect(await pieces(b)).toEqual([]);
  });

  it.each([
    ['changed', (text: string) => text.replace('"s-1"', '"s-x"')],
    ['that of another job', (_: string, other: string) => other],
    ['taken away', () => null],
  ] as const)(
    'end the job as rejected when one was %s, and it goes on when it is back',
    async (_, change) => {
      const work = many(large);
      const b = bench({ jobs: [work] });
      await b.once(work);
      await b.once(work);
      const found = await pieces(b);
      const [mine, other] = ['piece:id-1:', 'piece:id-2:'].map((begin) =>
        found.find(({ name, text }) => name.startsWith(begin) && text.includes('"s-1"')),
      );
      const forgedText = (change as (text: string, other: string) => string | null)(mine!.text, other!.text);
      const texts = b.client.stores.texts!;
      const { name } = mine!;
      if (forgedText === null) await texts.remove([{ name }]);
      else await texts.write([{ name, text: forgedText, endsAt: null }]);
      const id = name.split(':')[1]!;
      const { steps, problem } = await stepsOf(b.client.stores, id, b.clock.now());
      expect(problem).toContain(`Some steps are not shown. The stored text "${name}" does not verify`);
      expect(namesOf(steps as never)).toContain('s-29');
      expect(namesOf(steps as never)).not.toContain('s-1');
      b.clock.advance(day);
      const ends = [await b.next(), await b.next()];
      expect(ends.map(({ outcome }) => outcome).sort()).toEqual(['acked', 'rejected']);
      const refused = ends.find(({ outcome }) => outcome === 'rejected')!;
      expect(refused.error).toMatchObject({ code: 'SIGNATURE' });
      expect(refused.error!.message).toContain(`The stored text "${name}" does not verify`);
      await texts.write([{ name, text: mine!.text, endsAt: null }]);
      b.clock.advance(1);
      const [letter] = await b.backend.admin!.deadLetters.list({ queue: 'default', max: 1 });
      await b.backend.admin!.deadLetters.retry([letter!.id]);
      expect(await b.next()).toMatchObject({ outcome: 'acked' });
    },
  );

  it('are shown whole when an attempt merges them meanwhile', async () => {
    const { open, put, raw, clock } = stage();
    const log = await open();
    let count = 0;
    const more = (by: number, value?: string) => {
      count += by;
      return put(log, count - by, count, value);
    };
    await more(24);
    const small = 'x'.repeat(300);
    await more(40, small);
    const read: StepStore['read'] = async (name) => {
      if (name.startsWith('piece:') && count < 200) await more(88, small);
      return raw.read(name);
    };
    const { steps, problem } = await stepsOf({ steps: { ...raw, read } }, 'a', clock.now());
    expect(problem).toBeNull();
    expect(steps.length).toBeGreaterThan(64);
  });

  it('cannot be put in another order, nor left out, by who has no key', async () => {
    const { open, put, raw } = stage();
    await put(await open(), 0, 30, large);
    const { text, version } = (await raw.read('job:a'))!;
    const log = JSON.parse(text);
    log.steps.pieces.pop();
    await raw.write('job:a', JSON.stringify(log), version, 1e15);
    await expect(open()).rejects.toMatchObject({ code: 'SIGNATURE' });
  });

  it('live as long as the steps: a long sleep keeps them, and the store removes all at the end', async () => {
    const { open, put, clock, names, records } = stage();
    const log = await open();
    await put(log, 0, 30, large);
    const until = clock.now() + 366 * day;
    await log.put('sleep', () => ({ name: 'sleep', at: clock.now(), until }));
    clock.advance(366 * day);
    while ((await records.purge()) > 0);
    expect((await open()).steps).toHaveLength(31);
    for (let month = 0; month < 12; month++) {
      clock.advance(90 * day);
      while ((await records.purge()) > 0);
      expect((await open()).steps).toHaveLength(31);
    }
    clock.advance(111 * day);
    while ((await records.purge()) > 0);
    expect(await names()).toEqual([]);
  });

  it('are written by the next attempt when a process died before, and are left behind by nobody', async () => {
    const { open, put, names, store, raw } = stage();
    const log = await open();
    await put(log, 0, 4, large);
    // A piece that was written, and the text that should name it was not.
    const { text } = (await raw.read('job:a'))!;
    const { next, steps } = JSON.parse(text).steps;
    expect(next).not.toBeNull();
    const piece = JSON.stringify(steps.slice(0, next.count));
    await store.write(`piece:a:${next.name}`, piece, null, 1e15);
    const after = await open();
    await put(after, 4, 20, large);
    expect((await open()).steps).toHaveLength(20);
    await (await open()).forget();
    expect(await names()).toEqual([]);
    const alone = await open();
    await put(alone, 0, 4, large);
    const again = JSON.parse((await raw.read('job:a'))!.text).steps;
    await store.write(`piece:a:${again.next.name}`, piece, null, 1e15);
    await alone.forget();
    expect(await names()).toEqual([]);
  });

  it('take steps that end together and do not fit into one text', async () => {
    const { open, clock } = stage();
    const log = await open();
    const each = Array.from({ length: 20 }, (_, n) => ({
      ...{ name: `s-${n}`, at: clock.now(), value: 'x'.repeat(100_000) },
    }));
    expect(await Promise.all(each.map((step) => log.put(step.name, () => step)))).toEqual(each);
    expect((await open()).steps).toEqual(each);
  });

  it('take a step of the full size behind others, and refuse one that is larger, or too much of all', async () => {
    const { open, put, clock } = stage();
    const log = await open();
    await put(log, 0, 1, large);
    await put(log, 1, 2, 'x'.repeat(mostBytes - 400));
    const larger = { name: 'larger', at: clock.now(), value: 'x'.repeat(mostBytes) };
    await expect(log.put('larger', () => larger)).rejects.toThrow(
      /^Expected step "larger" to fit into 261888 bytes, got /,
    );
    const fitting = Math.floor(mostOfJob / 250_100) - 2;
    await put(log, 2, 2 + fitting, 'x'.repeat(250_000));
    const last = { name: 'last', at: clock.now(), value: 'x'.repeat(250_000) };
    await expect(
      Promise.all([log.put('last', () => last), log.put('more', () => ({ ...last, name: 'more' }))]),
    ).rejects.toThrow(
      /^Expected all steps of a job to fit into 4194304 bytes, got \d+ with step "(last|more)"/,
    );
    expect((await open()).steps.length).toBeGreaterThanOrEqual(2 + fitting);
  });
});

describe('the text of an earlier release', () => {
  const small = '{"owner":"o","attempt":1,"leaseUntil":1,"steps":[{"name":"pay","at":1,"value":"x"}]}';

  it('is written as it was while a job has few steps', async () => {
    const { open, store, clock } = stage();
    await store.write('job:a', small, null, 1e15);
    const log = await open();
    expect(namesOf(log.steps)).toEqual(['pay']);
    await log.put('ship', () => ({ name: 'ship', at: clock.now() }));
    expect(JSON.parse((await store.read('job:a'))!.text)).toMatchObject({
      steps: [{ name: 'pay', at: 1, value: 'x' }, { name: 'ship' }],
    });
  });

  it('goes on in pieces, however long it is, and that release fails to read them instead of repeating steps', async () => {
    const { open, put, store, names } = stage();
    const steps = Array.from({ length: 3_000 }, (_, n) => ({ name: `step-${n}`, at: n, value: { n } }));
    await store.write('job:a', JSON.stringify({ ...JSON.parse(small), steps }), null, 1e15);
    const log = await open();
    expect(log.steps).toEqual(steps);
    await put(log, 3_000, 3_010);
    expect(await names()).toHaveLength(2);
    const next = await open();
    expect(next.steps.slice(0, 3_000)).toEqual(steps);
    expect(next.steps).toHaveLength(3_010);
    // As it reads the steps: by `reduce` and `filter` of an array.
    expect(JSON.parse((await store.read('job:a'))!.text).steps).not.toHaveProperty('reduce');
  });
});
