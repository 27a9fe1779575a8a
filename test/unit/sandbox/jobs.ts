/** Jobs that misbehave, for the sandbox tests. Imported by the tests and, in each thread or process, by the isolate. */

import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { MessagePort, parentPort, threadId, workerData } from 'node:worker_threads';
import * as z from 'zod';
import {
  connect,
  createApp,
  currentContext,
  defineJob,
  fixed,
  keyRing,
  LongshoreError,
  PermanentError,
  RetryAfterError,
  SnoozeError,
} from '../../../core/index.ts';

const runs = { module: import.meta.url, maxRetries: 0, retry: fixed(10), timeoutMs: 10_000 } as const;

/** Runs in the worker itself, to see that the worker is alive; and is what isolated jobs enqueue. */
export const plain = defineJob({
  name: 'plain',
  payload: z.object({ n: z.number() }),
  maxRetries: 0,
  handle: ({ n }) => n + 1,
});

export const unknown = defineJob({ name: 'unknown', payload: z.object({}), handle: () => {} });

const payload = z.object({
  act: z.string(),
  n: z.number().default(0),
  day: z.coerce.date().optional(),
});
type Act = (input: z.output<typeof payload>, ctx: Parameters<typeof plain.run>[1]) => unknown;

let count = 0;

const sayAsUsual = (data: unknown) => (parentPort ? parentPort.postMessage(data) : process.send?.(data));
/** Past what stands in the way. */
const say = (data: unknown) =>
  parentPort
    ? MessagePort.prototype.postMessage.call(parentPort, data)
    : (process as unknown as { _send(data: unknown): void })._send(data);

const acts: Record<string, Act> = {
  quick: ({ n }) => n * 2,
  block: () => {
    for (;;);
  },
  sayAndBlock: (_, { log }) => {
    log('blocking');
    for (;;);
  },
  never: (_, { log }) => {
    log('waiting');
    return new Promise(() => {});
  },
  polite: (_, { signal }) => delay(60_000, undefined, { signal }),
  late: (_, { signal, log }) => {
    log('waiting');
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve('late')));
  },
  bomb: () => {
    const kept: number[][] = [];
    for (;;) kept.push([Math.random(), Math.random(), kept.length]);
  },
  exit: ({ n }) => process.exit(n),
  reject: async () => {
    void Promise.reject(new TypeError('nobody waits for me'));
    await delay(5_000);
  },
  uncaught: async () => {
    setTimeout(() => {
      throw new Error('from a timer');
    }, 1);
    await delay(5_000);
  },
  permanent: () => {
    throw new PermanentError('no invoice 7');
  },
  retryAfter: () => {
    throw new RetryAfterError(4_321, 'too many requests');
  },
  snooze: () => {
    throw new SnoozeError(4_321, 'the bank is closed');
  },
  endlessNap: () => {
    throw Object.assign(new SnoozeError(1), { retryAfterMs: -1 });
  },
  nan: () => {
    throw Object.assign(new RetryAfterError(1), { retryAfterMs: Number.NaN });
  },
  noCode: () => {
    throw Object.assign(new LongshoreError('LIMIT', 'none of ours'), { code: 'NEW', issues: [null] });
  },
  rows: async ({ n }, { progress }) => {
    const first = await progress(0, n);
    for (let row = 1; row <= n; row++) void progress(row, n, `row ${row}`);
    return first;
  },
  /** As a program does that wants to reach the worker. */
  saysMore: async () => {
    for (const type of ['failed', 'returned', 'ask', 'log', 'crashing', 'toString', undefined]) say({ type });
    for (const data of [null, 'ready', 7, [], { type: 'failed', error: null }]) say(data);
    say({ type: 'returned', output: { text: '"forged"', problem: null }, heapBytes: 1, peakBytes: 1 });
    await delay(20);
    return { argv: process.argv.length, workerData };
  },
  /** As a library does that thinks its own parent has started it. */
  saysMuch: async ({ n }) => {
    for (let i = 0; i < n; i++) sayAsUsual({ ready: i });
    return parentPort
      ? true
      : new Promise((resolve) => process.send!('ready', (error) => resolve(error === null)));
  },
  saysFew: ({ n }) => {
    for (let i = 0; i < n; i++) say({ ready: i });
  },
  floods: async ({ n }) => {
    for (let i = 0; i < n; i++) say({ ready: i });
    await delay(60_000);
  },
  logs: ({ n }, { log }) => {
    for (let i = 0; i < n; i++) log(`line ${i}`, { text: 'x'.repeat(1_000) });
  },
  logsLong: (_, { log }) => {
    log('short');
    log('long', { text: 'x'.repeat(2_000_000) });
    log('short');
  },
  /** In between the worker has read what came before. */
  logsInTurn: async ({ n }, { log, enqueue }) => {
    for (let i = 1; i <= n; i++) {
      log(`line ${i}`, { text: 'x'.repeat(1_000) });
      if (i % 500 === 0) await enqueue(plain, { n: i });
    }
  },
  ours: () => {
    throw new LongshoreError('LIMIT', 'too much for me');
  },
  typeError: () => {
    throw new TypeError('not a function');
  },
  caused: () => {
    throw new Error('no rows', { cause: new TypeError('connection reset') });
  },
  coded: () => {
    throw Object.assign(new Error('connection reset'), { name: 'SystemError', code: 'ECONNRESET' });
  },
  text: () => {
    throw 'just a text';
  },
  facts: ({ day }, { signal, progress: _, log: __, enqueue: ___, ...facts }) => ({
    facts,
    signal: [signal instanceof AbortSignal, signal.aborted],
    context: currentContext(),
    day: day instanceof Date ? day.getTime() : typeof day,
  }),
  abortReason: (_, { signal, log }) => {
    log('listening');
    return new Promise((resolve) =>
      signal.addEventListener('abort', () => {
        log('aborted', { name: signal.reason.name, code: signal.reason.code });
        resolve(null);
      }),
    );
  },
  where: () => ({
    pid: process.pid,
    threadId,
    key: process.env.LONGSHORE_SIGNING_KEYS ?? null,
    count: ++count,
  }),
  ask: async ({ n }, { progress, log, enqueue }) => {
    log('asking', { n, password: 'x', call: () => 1, at: new Date(5) });
    const kept = await progress(n, 10, 'half');
    return { kept, ...(await enqueue(plain, { n }, { priority: 'high', runAt: new Date(Date.now() - 1) })) };
  },
  refused: async (_, { enqueue }) => {
    const codes: string[] = [];
    const note = (error: LongshoreError) =>
      codes.push(
        `${error instanceof LongshoreError} ${error.code}: ${error.message} ${error.issues?.[0]?.path}`,
      );
    await enqueue(unknown, {}).catch(note);
    await enqueue(plain, { n: 'x' as unknown as number }).catch(note);
    await enqueue(plain, { n: new Map() as unknown as number }).catch(note);
    await enqueue(plain, { n: 1 }, { delayMs: -1 }).catch(note);
    await enqueue(plain, { n: 1 }, { context: (() => {}) as never }).catch(note);
    return codes;
  },
  afterwards: (_, { enqueue, progress, log }) => {
    setTimeout(async () => {
      log('too late');
      const kept = await progress(1);
      const refusal = await enqueue(plain, { n: 99 }).catch((error: LongshoreError) => error.code);
      Object.assign(globalThis, { afterwards: { kept, refusal } });
    }, 1);
  },
  sawAfterwards: () => (globalThis as { afterwards?: unknown }).afterwards ?? null,
  /** Three attempts, and each step once but that in which its isolate died. */
  story: async (_, ctx) => {
    const ran: string[] = [];
    const first = await ctx.step('first', ({ idempotencyKey, signal }) => {
      ran.push('first');
      return { key: idempotencyKey.split(':')[1], live: !signal.aborted };
    });
    if (ctx.attempt === 1) await ctx.step('dies', () => process.exit(3));
    const died = await ctx.step('dies', () => void ran.push('dies'));
    await ctx.sleep(5);
    const event = await ctx.waitFor('go', { key: ctx.id, timeoutMs: '1h' });
    return { first, died: died === undefined, payload: event?.payload, ran };
  },
  emits: (_, ctx) => ctx.emit('go', { by: 'Anna' }, { key: 'nobody' }),
  wrongSteps: async (_, ctx) => {
    const mine = new (class Mine extends Error {})('mine');
    const codes: unknown[] = [];
    const note = (error: LongshoreError) => void codes.push(error.code ?? error === mine);
    await ctx.step('throws', () => Promise.reject(mine)).catch(note);
    await ctx.step('throws', 7 as never).catch(note);
    await ctx.step('', () => 1).catch(note);
    await ctx.step('tx', () => 1, { transaction: true }).catch(note);
    await ctx.sleep('soon').catch(note);
    await ctx.waitFor('go', null as never).catch(note);
    await ctx.emit('no name', 1).catch(note);
    await ctx.emit('go', new Map()).catch(note);
    await ctx.emit('go', 1, { keepMs: -1 }).catch(note);
    await ctx.step('twice', () => 1);
    await ctx.step('twice', () => 1).catch(note);
    return codes;
  },
  keepsDate: (_, ctx) => ctx.step('date', () => new Date(0)),
  keepsMuch: (_, ctx) => ctx.step('much', () => 'x'.repeat(300_000)),
  catchesAll: async (_, ctx) => {
    if (await ctx.step('before', () => false)) return;
    await ctx.sleep('1h').catch(() => {});
    return 'dropped';
  },
  manySteps: async ({ n }, ctx) => {
    const all = Array.from({ length: n }, (_, i) => ctx.step(`s${i}`, () => i));
    const ends = await Promise.allSettled(all);
    const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason.code] : []));
    return { done: n - refused.length, codes: [...new Set(refused)] };
  },
  leavesStep: (_, ctx) => {
    void ctx.step('left', () => new Promise(() => {})).catch(() => {});
  },
  cycle: () => {
    const self: Record<string, unknown> = {};
    self.self = self;
    return self;
  },
  long: () => 'x'.repeat(70_000),
  nothing: () => {},
  heavy: () => {
    Object.assign(globalThis, { heavy: new Array(4_000_000).fill(0) }); // 32 MB on the heap
  },
  nested: async () => {
    const { sync } = await import('../../../local/backends/sync.ts');
    const app = createApp({
      jobs: [inThread, inProcess],
      signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
    });
    const client = connect(app, sync(app));
    const here = { pid: process.pid, threadId };
    const inner = [];
    for (const job of [inThread, inProcess]) {
      const { id } = await client.enqueue(job, { act: 'here' });
      inner.push((await client.status(id))?.output);
    }
    return { outer: here, inner };
  },
  here: () => ({ pid: process.pid, threadId }),
  grandchild: (_, { log }) => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    log('started', { pid: process.pid, child: child.pid });
    for (;;);
  },
};

const act: Act = async (input, ctx) => acts[input.act]!(input, ctx);
const common = { ...runs, payload } as const;

export const inThread = defineJob({ ...common, name: 'in.thread', isolate: 'thread', handle: act });
export const inProcess = defineJob({ ...common, name: 'in.process', isolate: 'process', handle: act });
/** Their timeout comes when the test says so: see the clock of the bench. */
export const heldThread = defineJob({
  ...common,
  name: 'held.thread',
  isolate: 'thread',
  timeoutMs: 3_600_000,
  maxRetries: 1,
  handle: act,
});
export const heldProcess = defineJob({
  ...common,
  name: 'held.process',
  isolate: 'process',
  timeoutMs: 3_600_000,
  maxRetries: 1,
  handle: act,
});
export const smallThread = defineJob({
  ...common,
  name: 'small.thread',
  isolate: 'thread',
  maxMemoryMb: 64,
  handle: act,
});
export const smallProcess = defineJob({
  ...common,
  name: 'small.process',
  isolate: 'process',
  maxMemoryMb: 64,
  handle: act,
});
