/** `POST /events/:event`: who may emit what, and to whom it goes. */

import { describe, expect, it } from 'vitest';
import { StepLog } from '../../../core/features/steps/log.ts';
import { sealedSteps } from '../../../core/features/steps/seal.ts';
import { register } from '../../../core/features/steps/waiters.ts';
import { createHttpHandler } from '../../../core/surfaces/http/index.ts';
import { createBench, expectSafe, keys } from './kit.ts';

const apiKeys = [
  { id: 'operator', key: keys.operator, events: true as const },
  { id: 'acme', key: keys.acme, tenantId: 'acme', events: ['paid'] },
  { id: 'globex', key: keys.globex, tenantId: 'globex', events: ['paid'] },
  { id: 'reporter', key: keys.reporter },
];

/** Jobs that wait for `paid`, by tenant. */
async function bench() {
  const b = createBench({ apiKeys });
  const steps = sealedSteps(b.client.stores.steps!, b.client.app);
  const wait = { name: 'wait', at: 0, until: b.clock.now() + 60_000, event: 'paid', key: 'k' };
  const logs = new Map<string, StepLog>();
  for (const id of ['acme', 'globex', 'nobody']) {
    const who = { id, owner: id, attempt: 1, leaseUntil: wait.until };
    const log = (await StepLog.open(steps, b.clock, who))!;
    await log.put('wait', () => wait);
    const waiter = { id, queue: 'default', step: 'wait', until: wait.until };
    const mine = id === 'nobody' ? {} : { tenantId: id };
    await register(steps, b.clock, 'paid', 'k', { ...waiter, ...mine });
    logs.set(id, log);
  }
  const got = async (id: string) => {
    const [step] = await logs.get(id)!.look();
    return 'got' in step! ? step.got!.payload : 'nothing';
  };
  return { ...b, got };
}

const paid = (key: string, body: unknown) => ({ method: 'POST', key, body });

describe('POST /events/:event', () => {
  it('reaches each job once, and of a tenant’s credential only its own', async () => {
    const { send, got } = await bench();
    const mine = await send('/events/paid', paid(keys.acme, { payload: { sum: 7 }, key: 'k' }));
    expectSafe(mine);
    expect([mine.status, mine.body]).toEqual([200, { event: 'paid', reached: 1 }]);
    expect((await send('/events/paid', paid(keys.acme, { key: 'k' }))).body.reached).toBe(0);
    expect([await got('acme'), await got('globex'), await got('nobody')]).toEqual([
      { sum: 7 },
      'nothing',
      'nothing',
    ]);
    expect((await send('/events/paid', paid(keys.operator, { payload: 1, key: 'k' }))).body.reached).toBe(2);
    expect([await got('acme'), await got('globex'), await got('nobody')]).toEqual([{ sum: 7 }, 1, 1]);
  });

  it('is for credentials that name the event, and says to others nothing of who waits', async () => {
    const { send } = await bench();
    for (const [key, event] of [
      [keys.reporter, 'paid'],
      [keys.acme, 'shipped'],
    ] as const) {
      const answer = await send(`/events/${event}`, paid(key, { key: 'k' }));
      expectSafe(answer);
      expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN']);
    }
    const paths = async (key: string) =>
      Object.keys((await send('/openapi.json', { key })).body.paths as object).includes('/events/{event}');
    expect([await paths(keys.operator), await paths(keys.acme), await paths(keys.reporter)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it.each([
    ['paid', '[]', 422, 'REQUEST'],
    ['paid', '{', 400, 'REQUEST'],
    ['paid', { paylod: 1 }, 422, 'REQUEST'],
    ['paid', { key: '' }, 400, 'OPTION'],
    ['paid', { key: 7 }, 400, 'OPTION'],
    ['paid', { key: 'x'.repeat(257) }, 400, 'OPTION'],
    ['paid', { keepMs: -1 }, 400, 'OPTION'],
    ['paid', { keepMs: '1h' }, 400, 'OPTION'],
    ['paid', { keepMs: 2_592_000_001 }, 400, 'OPTION'],
    ['paid', { payload: 'x'.repeat(70_000) }, 413, 'LIMIT'],
    ['two%20words', {}, 400, 'OPTION'],
    ['__proto__', {}, 200, undefined],
  ])('checks %s %j', async (event, body, status, code) => {
    const { send } = await bench();
    const answer = await send(`/events/${event}`, paid(keys.operator, body));
    expectSafe(answer);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  it('keeps nothing for a tenant, and needs a store with steps', async () => {
    const { send, client } = await bench();
    const kept = await send('/events/paid', paid(keys.acme, { keepMs: 1_000 }));
    expect([kept.status, kept.body.code]).toEqual([422, 'REQUEST']);
    const { steps: _, ...stores } = client.stores;
    const without = createBench({ apiKeys }, (one) => ({ ...one, stores }));
    expect((await without.send('/events/paid', paid(keys.operator, {}))).status).toBe(404);
  });

  it.each([[['a b']], ['paid'], [[7]], [{}]])('refuses the events %j of a key', (events) => {
    const { client } = createBench();
    const wrong = [{ id: 'x', key: keys.acme, events: events as never }];
    expect(() => createHttpHandler(client, { apiKeys: wrong })).toThrow(/Expected events of API key "x"/);
  });
});
