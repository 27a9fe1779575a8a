/** `onError` and `onDeadLetter`: who is called, with what, and that nothing they do is felt by a job. */

import { describe, expect, it } from 'vitest';
import { PermanentError } from '../../../core/base/errors.ts';
import type { JobFailure } from '../../../core/contract/outcome.ts';
import { createApp } from '../../../core/features/table.ts';
import type { Job } from '../../../core/kernel/app/job.ts';
import { fixed } from '../../../core/kernel/app/retry.ts';
import { hooksEnded } from '../../../core/kernel/attempt/failure-hooks.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { type BenchOptions, bench, envelope, job, startMs } from './kit.ts';

interface Call extends JobFailure {
  readonly hook: 'onError' | 'onDeadLetter';
  readonly error: Error;
}

/** A bench that collects the calls, which end at once. */
function listening(one: Job, options: BenchOptions = {}) {
  const calls: Call[] = [];
  const hook = (name: Call['hook']) => (error: Error, failure: JobFailure) =>
    calls.push({ hook: name, error, ...failure });
  const b = bench({ jobs: [one], onError: hook('onError'), onDeadLetter: hook('onDeadLetter'), ...options });
  return {
    ...b,
    /** What was called since the last look. */
    async heard(): Promise<Call[]> {
      await hooksEnded(b.app);
      return calls.splice(0);
    },
  };
}

const names = (calls: readonly Call[]): string[] => calls.map(({ hook }) => hook);

it.each([{ onError: 'console' }, { onDeadLetter: {} }])('refuses %j, which nobody could call', (hooks) => {
  expect(() => createApp({ jobs: [], ...(hooks as object) })).toThrow(
    /Expected (onError|onDeadLetter) of createApp\(\) to be a function, got /,
  );
});

describe('onError and onDeadLetter', () => {
  it('hear of each failed attempt, and of the death once', async () => {
    const cause = new Error('connect ECONNREFUSED');
    const thrown = new TypeError('no mail server', { cause });
    const handle = () => {
      throw thrown;
    };
    const t = listening(job({ handle, maxRetries: 1, retry: fixed(1000) }));
    const context = { tenantId: 'acme', requestId: 'r-1' };
    await t.once(t.app.jobs.get('work')!, { to: 'Ada' }, { context });
    const first = await t.heard();
    expect(names(first)).toEqual(['onError']);
    expect(first[0]).toMatchObject({
      id: 'id-1',
      job: 'work',
      queue: 'default',
      attempt: 1,
      maxAttempts: 2,
      tenantId: 'acme',
      requestId: 'r-1',
      traceparent: null,
      outcome: 'requeued',
      reason: null,
      delayMs: 1000,
      settled: true,
    });
    expect(first[0]!.error).toBe(thrown);
    expect(first[0]!.error.cause).toBe(cause);
    expect(first[0]!.error.stack).toContain('failure-hooks.test.ts');
    t.clock.advance(1000);
    await t.next();
    const last = await t.heard();
    expect(names(last)).toEqual(['onError', 'onDeadLetter']);
    expect(last[1]).toMatchObject({
      attempt: 2,
      outcome: 'dead-lettered',
      reason: 'exhausted',
      delayMs: null,
    });
  });

  it('hear nothing of a job that goes well, is released or is cancelled', async () => {
    const one = job({ maxRetries: 0 });
    const t = listening(one, { unknownJobGraceMs: 60_000 });
    await t.once(one);
    await t.put(envelope({ job: 'of.a.newer.worker' }));
    await t.next(); // released
    await t.client.enqueue(one, {});
    const run = await t.take();
    run.interrupt('cancelled');
    expect(await t.run(run)).toMatchObject({ reason: 'cancelled' });
    expect(await t.heard()).toEqual([]);
  });

  it.each([
    ['forged', 'rejected', (t: Listening) => t.put('{"nothing":"signed"}')],
    ['expired', 'expired', (t: Listening) => t.put(envelope({ expiresAt: startMs - 1 }))],
    ['crash-looped', 'crash-loop', (t: Listening) => t.put(envelope({ attempts: 4 }))],
    ['unknown', 'rejected', (t: Listening) => t.put(envelope({ job: 'gone', issuedAt: startMs - 600_000 }))],
  ] as const)('hear of a message that is %s', async (_, reason, put) => {
    const t = listening(job());
    await put(t);
    await t.next();
    const calls = await t.heard();
    expect(names(calls)).toEqual(['onError', 'onDeadLetter']);
    expect(calls[1]).toMatchObject({ reason, settled: true });
  });

  it('do not hear of a death whose settling changed nothing', async () => {
    const t = listening(
      job({
        handle() {
          throw new PermanentError('no');
        },
      }),
      { settler: (backend) => ({ ...backend, abandon: async () => false }) },
    );
    await t.once(t.app.jobs.get('work')!);
    const calls = await t.heard();
    expect(calls.map(({ hook, settled }) => [hook, settled])).toEqual([['onError', false]]);
  });

  it('get the payload when they ask for it, and never that of a message that is not verified', async () => {
    const one = job({ maxRetries: 0, handle: () => Promise.reject('a text') });
    const t = listening(one);
    await t.once(one, { card: '4111' });
    const [call] = await t.heard();
    expect(JSON.stringify(call)).not.toContain('4111');
    expect(call!.payload()).toEqual({ card: '4111' });
    expect(call!.error).toMatchObject({ message: 'a text', cause: 'a text' });
    await t.put(envelope({ payload: { card: '4222' } }).replace('4222', '4333'));
    await t.next();
    const [forged] = await t.heard();
    expect(forged).toMatchObject({ maxAttempts: null });
    expect(forged!.payload()).toBeUndefined();
  });
});

type Listening = ReturnType<typeof listening>;

describe('a hook that is broken', () => {
  const failing = job({ name: 'failing', maxRetries: 0, handle: () => Promise.reject(new Error('down')) });

  it.each([
    [
      'throws',
      () => {
        throw new Error('no network');
      },
    ],
    ['rejects', () => Promise.reject(new Error('no network'))],
  ] as const)('is one event when it %s, and its jobs are settled all the same', async (_, onError) => {
    const t = bench({ jobs: [failing], onError });
    for (let i = 0; i < 3; i++) {
      expect(await t.once(failing)).toMatchObject({ outcome: 'dead-lettered', settled: true });
    }
    await hooksEnded(t.app);
    const events = t.eventsOf('hook.failed');
    expect(events).toMatchObject([{ hook: 'onError', error: { code: 'HANDLER' } }]);
    expect(events[0]!.error.message).toMatch(/^The app's onError failed: no network\./);
  });

  it('does not hold a job, and is waited for 2 seconds at most at the end', async () => {
    const t = bench({ jobs: [failing], onDeadLetter: () => new Promise(() => {}) });
    expect(await t.once(failing)).toMatchObject({ settled: true });
    let hasEnded = false;
    const ending = hooksEnded(t.app).then(() => {
      hasEnded = true;
    });
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    t.clock.advance(1_999);
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    expect(hasEnded).toBe(false);
    t.clock.advance(1);
    await ending;
    t.clock.advance(8_000);
    await hooksEnded(t.app); // it was left to itself
    expect(t.app.failureHooks!.open.size).toBe(0);
    const events = t.eventsOf('hook.failed');
    expect(events[0]!.error.message).toMatch(/did not end within 10 s/);
  });

  it('is not called beyond a hundred failures that are under way', async () => {
    let called = 0;
    const t = bench({
      jobs: [failing],
      onError() {
        called++;
        return new Promise(() => {});
      },
    });
    for (let i = 0; i < 130; i++) await t.once(failing);
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    expect(called).toBe(100);
    const events = t.eventsOf('hook.failed');
    expect(events).toHaveLength(1);
    expect(events[0]!.error.message).toMatch(/not called while 100 failures/);
    t.clock.advance(10_000);
    await hooksEnded(t.app);
    await t.once(failing);
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    expect(called).toBe(101);
  });
});

describe('an attempt that is lost', () => {
  it('is an error, and no death', async () => {
    const t = listening(job());
    await t.client.enqueue(t.app.jobs.get('work')!, {});
    const run = await t.take(1_000);
    t.clock.advance(1_001);
    await t.run(createRun(run.lease));
    expect(await t.heard()).toMatchObject([
      { hook: 'onError', settled: false, error: { code: 'LEASE_LOST' } },
    ]);
  });
});
