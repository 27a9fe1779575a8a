/** Pings of schedules: sent in order, from wherever the job runs; a monitor that fails or hangs costs the job nothing. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { PermanentError } from '../../../core/base/errors.ts';
import { heartbeat } from '../../../core/features/alerts/index.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import { defineSchedule, type Ping, type PingKind } from '../../../core/kernel/app/schedule.ts';
import { bench, job, refusalText, until } from '../core/kit.ts';
import { httpServer, rawServer } from '../jobs/kit.ts';

const minuteMs = 60_000;
const open = (port: number) => ({ allowPrivate: [`127.0.0.1:${port}`] });

/** A schedule with this ping, whose job has been enqueued by a tick. */
async function due(ping: Ping, handle: () => unknown = () => {}, parts: { maxRetries?: number } = {}) {
  const work = job({ handle, maxRetries: 0, ...parts });
  const other = job({ name: 'other' });
  const schedule = defineSchedule({ name: 'nightly', everyMs: minuteMs, job: work, payload: {}, ping });
  const b = bench({ jobs: [work, other], schedules: [schedule] });
  await tick(b.app, b.client);
  const fall = async () => {
    b.clock.advance(minuteMs);
    const [id] = await tick(b.app, b.client);
    return id!;
  };
  await fall();
  return { ...b, work, other, fall };
}

/** Notes each ping, and what the job does. */
function noting() {
  const order: string[] = [];
  const ping: Ping = (kind) => void order.push(kind);
  return { order, ping };
}

describe('a run of a schedule', () => {
  it('pings when it begins and when it is done', async () => {
    const { order, ping } = noting();
    const b = await due(ping, () => void order.push('work'));
    await b.next();
    expect(order).toEqual(['start', 'work', 'success']);
  });

  it('pings that it has failed when no attempt is left, and nothing for one that will be made again', async () => {
    const { order, ping } = noting();
    const fail = () => {
      throw new Error('no');
    };
    const b = await due(ping, fail, { maxRetries: 1 });
    expect((await b.next()).outcome).toBe('requeued');
    expect(order).toEqual(['start']);
    b.clock.advance(60 * minuteMs);
    expect((await b.next()).outcome).toBe('dead-lettered');
    expect(order).toEqual(['start', 'start', 'fail']);
  });

  it.each<[string, () => unknown, PingKind[]]>([
    [
      'a permanent error',
      () => {
        throw new PermanentError('no');
      },
      ['start', 'fail'],
    ],
    ['an output', () => 'done', ['start', 'success']],
  ])('ends with %s', async (_, handle, kinds) => {
    const { order, ping } = noting();
    await (await due(ping, handle, { maxRetries: 9 })).next();
    expect(order).toEqual(kinds);
  });

  it('that is a copy of one that is done begins no second time', async () => {
    const { order, ping } = noting();
    const b = await due(ping);
    const copy = await b.take();
    await b.run(copy);
    order.length = 0;
    await b.put(copy.lease.body);
    expect((await b.next()).outcome).toBe('skipped-idempotent');
    expect(order).toEqual(['success']);
  });

  it('whose lease was lost pings no end: another worker may have it', async () => {
    const { order, ping } = noting();
    const b = await due(ping, () => b.clock.advance(10 * minuteMs));
    expect((await b.next()).settled).toBe(false);
    expect(order).toEqual(['start']);
  });

  it('is none of a job that was enqueued by hand, by a key that only looks like a moment, or by that of another job', async () => {
    const { order, ping } = noting();
    const b = await due(ping);
    await b.next();
    order.length = 0;
    await b.once(b.work, {}, { name: 'nightly' });
    await b.once(b.work, {}, { idempotencyKey: 'schedule:nightly@today' });
    await b.once(b.work, {}, { idempotencyKey: 'schedule:other@2026-01-15T12:00:00.000Z' });
    await b.once(b.other, {}, { idempotencyKey: 'schedule:nightly@2026-01-15T13:00:00.000Z' });
    expect(order).toEqual([]);
  });
});

describe('a monitor', () => {
  it('that fails is one event per series, and nothing to the job', async () => {
    let works = false;
    const b = await due((kind) => {
      if (!works) throw new Error(`cannot reach https://hc-ping.example/secret (${kind})`);
    });
    for (let i = 0; i < 3; i++) {
      expect((await b.next()).outcome).toBe('acked');
      await b.fall();
    }
    works = true;
    await b.next();
    const told = b.events.filter(({ type }) => type.startsWith('ping.'));
    expect(told).toMatchObject([
      {
        type: 'ping.failed',
        schedule: 'nightly',
        ping: 'start',
        error: {
          code: 'BACKEND',
          message: 'The ping "start" of schedule "nightly" failed: cannot reach [URL] (start)',
        },
      },
      { type: 'ping.recovered', schedule: 'nightly', failures: 6 },
    ]);
  });

  it('that hangs is not waited for before the job is settled, and for 5 s after it', async () => {
    const aborted: string[] = [];
    const hang: Ping = (kind, signal) =>
      new Promise(() => signal.addEventListener('abort', () => aborted.push(kind)));
    const b = await due(hang);
    let ended = false;
    const running = b.next().then((result) => {
      ended = true;
      return result;
    });
    // Settled at once: the queue has nothing left to give out, now or after any lease.
    const { admin } = b.backend;
    let leased = 1;
    while (leased > 0) {
      await new Promise(setImmediate);
      const [{ ready, leased: still } = { ready: 0, leased: 0 }] = await admin!.stats('default');
      leased = ready + still;
    }
    expect(ended).toBe(false);
    b.clock.advance(5_000);
    expect(await running).toMatchObject({ outcome: 'acked', settled: true });
    // The end is sent when the start was given up, and is given up itself.
    await until(() => aborted.includes('start'));
    expect(b.eventsOf('ping.failed')).toHaveLength(1);
  });

  it('is not waited for beyond the lease: a function that answers late is taken for one that failed', async () => {
    const b = await due(() => new Promise(() => {}));
    const run = await b.take(3_000);
    const running = b.run(run);
    await until(() => b.events.some(({ type }) => type === 'job.started'));
    for (let i = 0; i < 20; i++) await new Promise(setImmediate);
    b.clock.advance(2_000);
    expect(await running).toMatchObject({ outcome: 'acked', settled: true });
  });
});

describe('heartbeat()', () => {
  it('takes one URL as healthchecks.io does', async () => {
    const server = await httpServer((_, response) => response.end('OK'));
    const b = await due(heartbeat(`http://127.0.0.1:${server.port}/uuid?a=1`, open(server.port)));
    await b.next();
    expect(server.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /uuid/start?a=1',
      'GET /uuid?a=1',
    ]);
  });

  it('takes a URL for each, or for some', async () => {
    const server = await httpServer((_, response) => response.end());
    const at = (state: string) => `http://127.0.0.1:${server.port}/p/key?state=${state}`;
    const fail = () => {
      throw new PermanentError('no');
    };
    const urls = { start: at('run'), fail: at('fail') };
    const b = await due(heartbeat(urls, { method: 'POST', ...open(server.port) }), fail);
    await b.next();
    expect(server.seen.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'POST /p/key?state=run',
      'POST /p/key?state=fail',
    ]);
  });

  it.each([
    [
      'answers 500',
      (_: unknown, response: { writeHead(status: number): { end(): void } }) => response.writeHead(500).end(),
      'answered 500',
    ],
    [
      'redirects',
      (_: unknown, response: { writeHead(status: number): { end(): void } }) => response.writeHead(302).end(),
      'answered 302',
    ],
  ])('of a monitor that %s is a failure whose message holds no path', async (_, respond, message) => {
    const server = await httpServer(respond as never);
    const b = await due(heartbeat(`http://127.0.0.1:${server.port}/secret-uuid`, open(server.port)));
    expect((await b.next()).outcome).toBe('acked');
    const [failed] = b.eventsOf('ping.failed');
    expect(failed!.error.message).toContain(message);
    expect(failed!.error.stack).not.toContain('secret-uuid');
  });

  it('gives up a connection that hangs', async () => {
    let closed = 0;
    const server = await rawServer((socket) => socket.once('close', () => closed++));
    const b = await due(heartbeat({ success: `http://127.0.0.1:${server.port}/` }, open(server.port)));
    const running = b.next();
    while (server.connections() === 0) await new Promise(setImmediate);
    b.clock.advance(5_000);
    expect((await running).outcome).toBe('acked');
    while (closed === 0) await new Promise(setImmediate);
  });

  it.each<[string, () => unknown, string]>([
    ['http', () => heartbeat('http://hc.example.com/x'), 'expects an https URL'],
    ['a private address', () => heartbeat({ fail: 'https://192.168.0.9/' }), '(private)'],
    ['nothing', () => heartbeat({}), 'at least one of start, success and fail'],
    ['another ping', () => heartbeat({ failure: 'https://x.example' } as never), 'no ping "failure"'],
    [
      'another method',
      () => heartbeat('https://x.example', { method: 'PUT' as 'POST' }),
      'GET, POST or HEAD',
    ],
    ['a URL in its stead', () => due('https://x.example' as never), 'to be a function, got a string'],
  ])('refuses %s when it is defined', async (_, define, message) => {
    const text = await refusalText(define);
    expect(text).toMatch(/^CONFIG: /);
    expect(text).toContain(message);
  });
});

describe('an app without pings', () => {
  it('makes none of its attempts pass the step', async () => {
    const { pinged } = await import('../../../core/features/pings/feature.ts');
    const { admitted } = await import('../core/step-kit.ts');
    const work = job();
    const b = bench({ jobs: [work] });
    onTestFinished(() => b.client.close());
    await b.client.enqueue(work, {}, { idempotencyKey: 'schedule:nightly@2026-01-15T12:00:00.000Z' });
    expect(pinged.for(admitted(b.client, await b.take()))).toBe(false);
  });
});
