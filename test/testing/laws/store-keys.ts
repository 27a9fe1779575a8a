import assert from 'node:assert/strict';
import { day, hour, type Kit, minute, second } from './kit.ts';
import type { Law } from './law.ts';

const key = 'job:invoice.send:1042';
const ours = { state: 'claimed', value: null } as const;

export function keyLaws(law: Law): void {
  law('a free key is claimed, and then runs for everybody else', async (t) => {
    const { keys } = t.stores;
    const until = t.now() + minute;
    assert.deepEqual(await keys.claim(key, 'anna', until), ours);
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + hour), { state: 'running', until });
  });

  law('keys differ to the last character', async (t) => {
    const { keys } = t.stores;
    for (const other of [key, `${key} `, key.toUpperCase(), `${key}é`, `${key}e\u0301`, '%', '_']) {
      assert.deepEqual(await keys.claim(other, `owner of ${other}`, t.now() + minute), ours);
    }
  });

  law('of many concurrent claims exactly one wins', async (t) => {
    const stores = t.openings.map((opening) => opening.stores!);
    const until = t.now() + minute;
    const claims = await Promise.all(
      Array.from({ length: 24 }, (_, i) => stores[i % stores.length]!.keys.claim(key, `owner ${i}`, until)),
    );
    const states = claims.map(({ state }) => state);
    assert.equal(states.filter((state) => state === 'claimed').length, 1);
    assert.equal(states.filter((state) => state === 'running').length, 23);
  });

  law('a hold that ran out frees the key', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + 2 * second);
    await t.advance(2 * second);
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + minute), ours);
  });

  law('the same owner may claim again, which moves the end of the hold', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + 2 * second);
    const until = t.now() + minute;
    assert.deepEqual(await keys.claim(key, 'anna', until), ours);
    await t.advance(2 * second);
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + hour), { state: 'running', until });
  });

  law('the owner extends its hold, nobody else does', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + 2 * second);
    assert.equal(await keys.extend(key, 'ben', t.now() + hour), false);
    const until = t.now() + minute;
    assert.equal(await keys.extend(key, 'anna', until), true);
    await t.advance(2 * second);
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + hour), { state: 'running', until });
  });

  law('the owner completes a key, and everybody then reads the value', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + minute);
    const done = { value: '{"sent":"📨"}', keepUntil: t.now() + day };
    assert.equal(await keys.complete(key, 'anna', done), true);
    await t.advance(hour);
    for (const owner of ['ben', 'anna']) {
      assert.deepEqual(await keys.claim(key, owner, t.now() + minute), {
        state: 'completed',
        value: done.value,
      });
    }
  });

  law('a key may be completed without a value', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + minute);
    await keys.complete(key, 'anna', { value: null, keepUntil: t.now() + day });
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + minute), { state: 'completed', value: null });
  });

  law('nobody but the owner completes a key', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + minute);
    assert.equal(await keys.complete(key, 'ben', { value: '1', keepUntil: t.now() + day }), false);
    assert.equal(
      await keys.complete('never claimed', 'ben', { value: '1', keepUntil: t.now() + day }),
      false,
    );
    assert.equal((await keys.claim(key, 'carl', t.now() + minute)).state, 'running');
    assert.deepEqual(await keys.claim('never claimed', 'carl', t.now() + minute), ours);
  });

  law('a completed key is over: it can be neither extended, released nor completed again', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + minute);
    await keys.complete(key, 'anna', { value: '1', keepUntil: t.now() + day });
    assert.equal(await keys.extend(key, 'anna', t.now() + 2 * day), false);
    assert.equal(await keys.release(key, 'anna'), false);
    assert.equal(await keys.complete(key, 'anna', { value: '2', keepUntil: t.now() + 2 * day }), false);
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + minute), { state: 'completed', value: '1' });
  });

  law('a completed key is free again after keepUntil, and its result is forgotten', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + minute);
    await keys.complete(key, 'anna', { value: '1', keepUntil: t.now() + hour });
    await t.advance(hour);
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + minute), ours);
  });

  law('release frees the key at once', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + minute);
    assert.equal(await keys.release(key, 'ben'), false);
    assert.equal(await keys.release(key, 'anna'), true);
    assert.equal(await keys.release(key, 'anna'), false);
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + minute), ours);
  });

  law('a value left with release is read by the next owner', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + minute);
    assert.equal(await keys.release(key, 'anna', { value: '{"at":1}', keepUntil: t.now() + day }), true);
    await t.advance(hour);
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + minute), {
      state: 'claimed',
      value: '{"at":1}',
    });
    await keys.release(key, 'ben', { value: '{"at":2}', keepUntil: t.now() + day });
    assert.deepEqual(await keys.claim(key, 'carl', t.now() + minute), {
      state: 'claimed',
      value: '{"at":2}',
    });
  });

  law('a value left with release survives an owner that dies with the key', async (t) => {
    const { keys, records } = t.stores;
    await keys.claim(key, 'anna', t.now() + minute);
    await keys.release(key, 'anna', { value: '{"at":1}', keepUntil: t.now() + day });
    await keys.claim(key, 'ben', t.now() + minute);
    await t.advance(hour);
    await records.purge();
    assert.deepEqual(await keys.claim(key, 'carl', t.now() + minute), {
      state: 'claimed',
      value: '{"at":1}',
    });
  });

  law('a value left with release is forgotten after keepUntil', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + minute);
    await keys.release(key, 'anna', { value: '{"at":1}', keepUntil: t.now() + hour });
    await t.advance(hour);
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + minute), ours);
  });

  law('an owner whose hold ran out changes nothing, even while nobody took over', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + 2 * second);
    await t.advance(2 * second);
    await nothingBy(t, 'anna');
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + minute), ours);
  });

  law('an owner whose key somebody took over changes nothing', async (t) => {
    const { keys } = t.stores;
    await keys.claim(key, 'anna', t.now() + 2 * second);
    await t.advance(2 * second);
    const until = t.now() + minute;
    await keys.claim(key, 'ben', until);
    await nothingBy(t, 'anna');
    assert.deepEqual(await keys.claim(key, 'carl', t.now() + hour), { state: 'running', until });
    assert.equal(await keys.complete(key, 'ben', { value: '2', keepUntil: t.now() + day }), true);
  });
}

async function nothingBy(t: Kit, owner: string): Promise<void> {
  const { keys } = t.stores;
  assert.equal(await keys.extend(key, owner, t.now() + hour), false);
  assert.equal(await keys.complete(key, owner, { value: '1', keepUntil: t.now() + day }), false);
  assert.equal(await keys.release(key, owner), false);
  assert.equal(await keys.release(key, owner, { value: '1', keepUntil: t.now() + day }), false);
}

/** One transaction, where queue and keys share a database: no crash can come between the two. */
export function ackedKeyLaws(law: Law): void {
  law('an ack with a completion marks the key as well', async (t) => {
    const { keys } = t.stores;
    await t.put();
    const lease = await t.take({ leaseMs: minute });
    await keys.claim(key, lease.token, lease.expiresAt);
    const complete = { key, owner: lease.token, value: '{"sent":true}', keepUntil: t.now() + day };
    assert.deepEqual(await t.backend.ack([{ lease, complete }]), [true]);
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + minute), {
      state: 'completed',
      value: '{"sent":true}',
    });
    await t.nothingEverComes();
  });

  law('a stale ack with a completion leaves the key open', async (t) => {
    const { keys } = t.stores;
    await t.put();
    const lease = await t.take({ leaseMs: 2 * second });
    await keys.claim(key, lease.token, t.now() + minute);
    await t.advance(2 * second);
    const complete = { key, owner: lease.token, value: '1', keepUntil: t.now() + day };
    assert.deepEqual(await t.backend.ack([{ lease, complete }]), [false]);
    assert.equal((await keys.claim(key, 'ben', t.now() + minute)).state, 'running');
    await t.advance(minute);
    assert.deepEqual(await keys.claim(key, 'ben', t.now() + minute), ours);
  });

  law('in a batch of acks each completion goes with its own ack', async (t) => {
    const { keys } = t.stores;
    await t.put();
    const stale = await t.take({ leaseMs: 2 * second });
    await t.put();
    const live = await t.take({ leaseMs: hour });
    await t.advance(2 * second);
    const acks = [];
    for (const lease of [stale, live]) {
      const own = `key of ${lease.token}`;
      await keys.claim(own, lease.token, t.now() + minute);
      acks.push({
        lease,
        complete: { key: own, owner: lease.token, value: null, keepUntil: t.now() + day },
      });
    }
    assert.deepEqual(await t.backend.ack(acks), [false, true]);
    const states = [];
    for (const { complete } of acks)
      states.push((await keys.claim(complete.key, 'ben', t.now() + minute)).state);
    assert.deepEqual(states, ['running', 'completed']);
  });

  law('an ack never takes a key from another owner', async (t) => {
    const { keys } = t.stores;
    await t.put();
    const lease = await t.take();
    const until = t.now() + minute;
    await keys.claim(key, 'ben', until);
    const complete = { key, owner: lease.token, value: '1', keepUntil: t.now() + day };
    assert.deepEqual(await t.backend.ack([{ lease, complete }]), [true]);
    assert.deepEqual(await keys.claim(key, 'carl', t.now() + minute), { state: 'running', until });
  });
}
