/** Finding dead letters, and retrying and discarding many. */

import { describe, expect, it } from 'vitest';
import { brief, mail, mended, operatorBench } from './kit.ts';

describe('dead letters of an operator', () => {
  it('are found by job, reason, error and time, on pages', async () => {
    const { operator, die, clock } = operatorBench();
    const { deadLetters } = operator;
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift(await die(mail, { to: `u${n}`, error: `no user ${n}` }));
    const at = clock.now();
    const other = await die(brief, { n: 3 });
    const pages: string[][] = [];
    let next: string | null = null;
    do {
      const page: Awaited<ReturnType<typeof deadLetters.page>> = await deadLetters.page(
        { job: 'mail' },
        { max: 2, ...(next !== null && { after: next }) },
      );
      pages.push(page.letters.map(({ id }) => id));
      next = page.next;
    } while (next !== null);
    expect(pages.flat()).toEqual(ids);
    expect(pages.length).toBeGreaterThan(2);
    const idsOf = async (filter: Parameters<typeof deadLetters.page>[0]) =>
      (await deadLetters.page(filter)).letters.map(({ id }) => id);
    expect(await idsOf({ diedFrom: at })).toEqual([other]);
    expect(await idsOf({ diedBefore: at })).toEqual(ids);
    expect(await idsOf({ error: 'user 3' })).toEqual([ids[1]]);
    expect(await idsOf({ error: 'User 3' })).toEqual([]);
    expect(await idsOf({ reason: 'expired' })).toEqual([]);
    expect(await idsOf({ queue: 'other', reason: 'permanent' })).toEqual([other]);
  });

  it('are grouped by their error, whatever numbers and names are in it', async () => {
    const { operator, die } = operatorBench();
    for (let n = 0; n < 3; n++) await die(mail, { to: `u${n}`, error: `no user ${n} in "list ${n}"` });
    const last = await die(mail, { to: 'x', error: 'no user 9 in "none"' });
    await die(mail, { to: 'y', error: 'timed out' });
    const { groups, looked, complete } = await operator.deadLetters.groups({});
    expect({ looked, complete }).toEqual({ looked: 5, complete: true });
    expect(groups.map(({ count, job, newestId }) => ({ count, job, newestId }))).toEqual([
      { count: 4, job: 'mail', newestId: last },
      expect.objectContaining({ count: 1 }),
    ]);
    expect(groups[0]!.error).toContain('no user 9');
    const { fingerprint } = groups[0]!;
    expect((await operator.deadLetters.page({ fingerprint })).letters).toHaveLength(4);
    expect(await operator.deadLetters.groups({}, 2)).toMatchObject({ looked: 2, complete: false });
    await operator.deadLetters.discard({ filter: { fingerprint } });
    expect((await operator.deadLetters.page({})).letters).toHaveLength(1);
  });

  it('are retried by ids, and ids that are none are named', async () => {
    const { operator, die, client } = operatorBench();
    const id = await die(mail, { to: 'a', error: 'down' });
    const result = await operator.deadLetters.retry({ ids: [id, 'nobody', id] });
    expect(result).toMatchObject({ done: 1, missing: ['nobody'], refused: [], ended: 'all' });
    expect(await client.status(id)).toMatchObject({ status: 'pending' });
  });

  it.each([{ inPages: true }, { inPages: false }])(
    'that somebody else takes at that moment are told as left, with %j',
    async ({ inPages }) => {
      const { operator, die, client } = operatorBench();
      for (let n = 0; n < 4; n++) await die(mail, { to: `u${n}`, error: 'down' });
      const { deadLetters } = client.backend.admin!;
      const { retry, discard } = deadLetters;
      const other = {
        retry: async (ids: readonly string[]) => {
          await discard(ids.slice(0, 1));
          return retry(ids);
        },
      };
      Object.assign(deadLetters, other, inPages ? {} : { page: undefined });
      const result = await operator.deadLetters.retry({ filter: {} });
      expect(result).toMatchObject({ done: 3, left: 1, missing: [], refused: [], ended: 'partly' });
      const [entry] = (await operator.audit()).entries;
      expect(entry).toMatchObject({ count: 3, note: '1 not found' });
      Object.assign(deadLetters, { retry });
      expect(await operator.deadLetters.retry({ filter: {} })).toMatchObject({ left: 0, ended: 'all' });
    },
  );

  it('of which a broker lists copies are not told as left', async () => {
    const { operator, die, client } = operatorBench();
    const id = await die(mail, { to: 'a', error: 'down' });
    const { deadLetters } = client.backend.admin!;
    const { list } = deadLetters;
    const listTwice: typeof list = async (filter) => {
      const found = await list(filter);
      return [...found, ...found];
    };
    Object.assign(deadLetters, { page: undefined, get: undefined, list: listTwice });
    const result = await operator.deadLetters.retry({ filter: {} }, { perSecond: 1_000 });
    expect(result).toMatchObject({ done: 1, left: 0, ended: 'all' });
    expect(await client.status(id)).toMatchObject({ status: 'pending' });
  });

  it('are counted by a dry run, which changes nothing', async () => {
    const { operator, die } = operatorBench();
    for (let n = 0; n < 4; n++) await die(mail, { to: `u${n}`, error: 'down' });
    const filter = { job: 'mail' };
    expect(await operator.deadLetters.retry({ filter }, { dryRun: true })).toMatchObject({
      done: 0,
      total: 4,
      ended: 'all',
    });
    expect(await operator.deadLetters.discard({ filter }, { dryRun: true, limit: 3 })).toMatchObject({
      done: 0,
      total: 3,
      ended: 'limit',
    });
    expect((await operator.deadLetters.page({})).letters).toHaveLength(4);
  });

  it('are retried up to a limit, the newest first', async () => {
    const { operator, die } = operatorBench();
    const ids: string[] = [];
    for (let n = 0; n < 4; n++) ids.push(await die(mail, { to: `u${n}`, error: 'down' }));
    expect(await operator.deadLetters.retry({ filter: {} }, { limit: 3 })).toMatchObject({
      done: 3,
      total: 3,
      ended: 'limit',
    });
    expect((await operator.deadLetters.page({})).letters.map(({ id }) => id)).toEqual([ids[0]]);
    expect(await operator.deadLetters.retry({ filter: {} }, { limit: 1 })).toMatchObject({
      done: 1,
      ended: 'all',
    });
  });

  it('are each retried once, also when they die again at once', async () => {
    const bench = operatorBench();
    const { operator, die, drain, clock } = bench;
    for (let n = 0; n < 3; n++) await die(mail, { to: `u${n}`, error: 'down' });
    const seen: number[] = [];
    const result = await operator.deadLetters.retry(
      { filter: {} },
      { onProgress: ({ done }) => seen.push(done), perSecond: 1_000 },
    );
    await drain();
    clock.advance(1);
    expect(result).toMatchObject({ done: 3 });
    expect(seen.at(-1)).toBe(3);
    expect((await operator.deadLetters.page({})).letters).toHaveLength(3);
  });

  it('go out at the wanted rate, and stop when they are asked to', async () => {
    const { operator, die, clock } = operatorBench();
    for (let n = 0; n < 6; n++) await die(mail, { to: `u${n}`, error: 'down' });
    const stop = new AbortController();
    const seen: number[] = [];
    const retried = operator.deadLetters.retry(
      { filter: {} },
      { perSecond: 2, signal: stop.signal, onProgress: ({ done }) => seen.push(done) },
    );
    const turn = async () => {
      for (let n = 0; n < 20; n++) await new Promise(setImmediate);
    };
    await turn();
    expect(seen).toEqual([2]);
    clock.advance(999);
    await turn();
    expect(seen).toEqual([2]);
    clock.advance(1);
    await turn();
    expect(seen).toEqual([2, 4]);
    stop.abort();
    expect(await retried).toMatchObject({ done: 4, ended: 'stopped' });
  });

  it('that expired are retried with a new expiry only', async () => {
    const { operator, client, clock, drain } = operatorBench();
    const { id } = await client.enqueue(brief, { n: 1 });
    clock.advance(60_001);
    await drain();
    expect(await operator.deadLetters.retry({ ids: [id] })).toMatchObject({
      done: 0,
      refused: [{ id, why: expect.stringContaining('expiry') }],
    });
    expect(await operator.deadLetters.retry({ filter: {} }, { dryRun: true })).toMatchObject({ total: 0 });
    expect(await operator.deadLetters.retry({ ids: [id] }, { expiresInMs: 1_000 })).toMatchObject({
      done: 1,
      refused: [],
    });
    await drain();
    expect(await operator.deadLetters.show(id)).toMatchObject({
      letter: { reason: 'permanent' },
      envelope: { expiresAt: clock.now() + 1_000 },
      expired: false,
    });
    clock.advance(1_000);
    expect(await operator.deadLetters.show(id)).toMatchObject({ expired: true });
    expect(await operator.deadLetters.retry({ ids: [id] })).toMatchObject({ done: 0, refused: [{ id }] });
  });
});

describe('stopAbovePercent', () => {
  const count = 40;

  async function watched(works: (n: number) => boolean, stopAbovePercent: number) {
    const { operator, die, drain, clock } = operatorBench();
    for (let n = 0; n < count; n++) await die(mail, { to: `u${n}`, error: 'down' });
    for (let n = 0; n < count; n++) if (works(n)) mended.add(`u${n}`);
    let ended = false;
    const retried = operator.deadLetters.retry({ filter: {} }, { stopAbovePercent }).finally(() => {
      ended = true;
    });
    while (!ended) {
      await drain();
      clock.advance(1_000);
      await new Promise(setImmediate);
    }
    mended.clear();
    return retried;
  }

  it('stops after the first few when they fail again', async () => {
    expect(await watched(() => false, 20)).toMatchObject({
      done: 10,
      ran: 10,
      failedAgain: 10,
      ended: 'failing',
    });
  });

  it('goes on as long as few enough fail', async () => {
    const all = { done: count, ran: count, ended: 'all' };
    expect(await watched((n) => n % 10 > 0, 20)).toMatchObject({ ...all, failedAgain: 4 });
    expect(await watched(() => true, 0)).toMatchObject({ ...all, failedAgain: 0 });
  });

  it('sends little where nothing runs them, and stops when it is asked to', async () => {
    const { operator, die, clock } = operatorBench();
    for (let n = 0; n < count; n++) await die(mail, { to: `u${n}`, error: 'down' });
    const stop = new AbortController();
    let done = 0;
    const retried = operator.deadLetters.retry(
      { filter: {} },
      { stopAbovePercent: 5, signal: stop.signal, onProgress: (progress) => (done = progress.done) },
    );
    for (let seconds = 0; seconds < 150; seconds++) {
      for (let n = 0; n < 50; n++) await new Promise(setImmediate);
      clock.advance(1_000);
    }
    expect(done).toBe(12);
    stop.abort();
    expect(await retried).toMatchObject({ done: 12, ran: 0, ended: 'stopped' });
  });

  it('needs records', async () => {
    const { operator } = operatorBench({
      stores: { records: { recordsDisabled: true, get: async () => null } as never },
    });
    await expect(operator.deadLetters.retry({ filter: {} }, { stopAbovePercent: 5 })).rejects.toMatchObject({
      code: 'OPTION',
    });
  });
});
