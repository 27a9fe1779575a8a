/** What a client remembers of a backend that does not answer. */

import { expect, it } from 'vitest';
import { type Contract, connect } from '../../../core/index.ts';
import { until } from '../core/kit.ts';
import { createBench } from './kit.ts';

/** Calls wait until `answer()`, where `holds`. */
function switchable(backend: Contract.QueueBackend) {
  const it = { calls: 0, away: false, holds: false, answer: () => {} };
  const enqueue: typeof backend.enqueue = async (messages) => {
    it.calls++;
    if (it.holds)
      await new Promise<void>((resolve) => {
        it.answer = resolve;
      });
    if (it.away) throw new Error('gone');
    return backend.enqueue(messages);
  };
  return { it, backend: { ...backend, enqueue } };
}

function createPair() {
  const b = createBench();
  const [fast, other] = [switchable(b.backends.fast), switchable(b.backends.default)];
  const backends = { default: other.backend, fast: fast.backend };
  const client = connect(b.app, backends, { failover: { fast: 'default' } });
  const send = async () => (await client.enqueue(b.thumb, { n: 1 })).backend;
  const warnings = () => b.eventsOf('backend.warning').map(({ message }) => message);
  return { ...b, client, send, warnings, fast: fast.it, other: other.it };
}

it('asks one that failed again after a pause that grows from 1 s to 30 s', async () => {
  const { clock, fast, send } = createPair();
  fast.away = true;
  expect(await send()).toBe('default');
  const pausesMs: number[] = [];
  for (let n = 0; n < 7; n++) {
    const { calls } = fast;
    let pauseMs = 0;
    for (; fast.calls === calls; pauseMs += 500) {
      clock.advance(500);
      expect(await send()).toBe('default');
    }
    pausesMs.push(pauseMs);
  }
  expect(pausesMs).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
});

it('goes back with the call that finds it answering, and tells each change once', async () => {
  const { clock, fast, send, warnings, eventsOf } = createPair();
  fast.away = true;
  for (let n = 0; n < 3; n++) await send();
  fast.away = false;
  expect(await send()).toBe('default');
  clock.advance(1_000);
  for (let n = 0; n < 2; n++) expect(await send()).toBe('fast');
  expect(eventsOf('enqueue.failed-over').length).toBe(4);
  expect(warnings()).toEqual([
    expect.stringMatching(/^Backend "fast" does not answer, so its new jobs go to "default" for now: .*gone/),
    'Backend "fast" answers again: its new jobs go there.',
  ]);
  fast.away = true;
  await send();
  expect(warnings().length).toBe(3);
  clock.advance(1_000); // the pause is short again
  await send();
  expect(fast.calls).toBe(5);
});

it('lets one call try while the others go on, and calls that fail together count once', async () => {
  const { clock, fast, send } = createPair();
  fast.away = true;
  expect(await Promise.all([send(), send(), send()])).toEqual(['default', 'default', 'default']);
  expect(fast.calls).toBe(3);
  clock.advance(1_000);
  fast.holds = true;
  const trying = send();
  await until(() => fast.calls === 4);
  expect(await send()).toBe('default');
  fast.answer();
  expect(await trying).toBe('default');
  clock.advance(1_999);
  await send();
  expect(fast.calls).toBe(4);
});

it('asks both where the other one fails too: no job is refused for what is remembered', async () => {
  const { fast, other, send } = createPair();
  fast.away = true;
  await send();
  other.away = true;
  await expect(send()).rejects.toThrow(/gone Nor does backend "default" answer: .*gone/);
  fast.away = false;
  expect(await send()).toBe('fast');
});
