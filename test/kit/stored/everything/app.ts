/**
 * An app with every feature that stores something, and the story that leaves each of them half-way. write.ts runs it on a release;
 * go-on.ts runs the same app on what that release has stored.
 */

import * as z from 'zod/mini';
import { alert, defineAlerts } from '../../../../core/features/alerts/index.ts';
import {
  type Contract,
  connect,
  createApp,
  defineJob,
  defineSchedule,
  fixed,
  type HandlerContext,
  type KeyRing,
  keyRing,
  PermanentError,
  startWorker,
  tick,
} from '../../../../core/index.ts';
import { createOperator } from '../../../../core/operations/index.ts';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;

/** When the stored texts were written, by their own clock. */
export const storedAt = Date.UTC(2026, 0, 15, 12, 0, 10);

/** Runs from `start` on, and can be set forward. Timers run in real time. */
export function clockFrom(start: number) {
  let now = start - Date.now();
  return {
    now: () => now + Date.now(),
    jump(ms: number) {
      now += ms;
    },
    after(delayMs: number, run: () => void) {
      const timer = setTimeout(run, delayMs);
      return () => clearTimeout(timer);
    },
  };
}
export type StoredClock = ReturnType<typeof clockFrom>;

export interface Story {
  readonly clock: StoredClock;
  /** What the handlers do. */
  readonly act: (what: string, ctx: HandlerContext) => unknown;
  /** Whether the one alert holds. */
  readonly holds: () => boolean;
  readonly notified: (text: string) => void;
  readonly newId: () => string;
  readonly signing: KeyRing;
}

export const signingKeys = [{ kid: 'stored', secret: new Uint8Array(32).fill(1) }];

export function everythingApp({ clock, act, holds, notified, newId, signing }: Story) {
  const label = z.object({ label: z.string() });
  const one = (
    name: string,
    options: Partial<Parameters<typeof defineJob<typeof label, Promise<string>>>[0]> = {},
  ) =>
    defineJob({
      name,
      payload: label,
      retry: fixed(hourMs),
      ...options,
      handle: ({ label }, ctx) => act(label, ctx) as Promise<string>,
    });
  const jobs = {
    send: one('mail.send', { queue: 'mail' }),
    charge: one('card.charge', { idempotencyKey: ({ label }: { label: string }) => label }),
    unique: one('customer.sync', { unique: { key: () => 'customer-7', during: 'waiting' } }),
    throttled: one('mail.sign-in', { unique: { key: () => 'anna', during: { forMs: 2 * dayMs } } }),
    debounced: one('index.build', { debounce: { key: () => 'products', waitMs: 3 * hourMs } }),
    grouped: one('image.resize', { queue: 'images' }),
    ordered: one('ledger.book', { queue: 'ledger' }),
    limited: one('shop.sync', { queue: 'shop', concurrency: { limit: 1, key: () => 'shop-1' } }),
    rated: one('shop.price', { queue: 'shop', rate: { limit: 1, perMs: 4 * hourMs } }),
    broken: one('sms.send', { breaker: { failures: 2, openMs: 8 * hourMs } }),
    paused: one('report.print'),
    child: one('line.import', { queue: 'lines' }),
    report: one('report.build', { queue: 'reports' }),
    called: defineJob({
      name: 'import.done',
      payload: z.object({ name: z.string(), succeeded: z.number(), failed: z.number() }),
      handle: ({ name, succeeded, failed }, ctx) => act(`called ${name}: ${succeeded} and ${failed}`, ctx),
    }),
    summed: defineJob({
      name: 'import.sum',
      payload: z.object({ results: z.array(z.string()) }),
      handle: ({ results }, ctx) => act(`sum of ${results}`, ctx),
    }),
    first: defineJob({
      name: 'text.first',
      payload: label,
      handle: ({ label }, ctx) => Promise.resolve(act(label, ctx)).then(() => label.length),
    }),
    left: defineJob({
      name: 'text.left',
      payload: z.number(),
      retry: fixed(hourMs),
      handle: (length, ctx) => Promise.resolve(act(`left ${length}`, ctx)).then(() => length + 1),
    }),
    right: defineJob({
      name: 'text.right',
      payload: z.number(),
      retry: fixed(hourMs),
      handle: (length, ctx) => Promise.resolve(act(`right ${length}`, ctx)).then(() => length + 2),
    }),
    last: defineJob({
      name: 'text.last',
      payload: z.array(z.number()),
      handle: (lengths, ctx) => act(`last ${lengths}`, ctx),
    }),
    sleeper: defineJob({
      name: 'order.sleep',
      payload: label,
      async handle({ label }, ctx) {
        const payment = await ctx.step('charge', () => act(`${label}: charge`, ctx) as string);
        await ctx.sleep('5h');
        await ctx.step('ship', () => act(`${label}: ship, ${payment}`, ctx) as string);
      },
    }),
    waiter: defineJob({
      name: 'order.wait',
      payload: label,
      async handle({ label }, ctx) {
        await ctx.step('charge', () => act(`${label}: charge`, ctx) as string);
        const packed = await ctx.waitFor<string>('packed', { key: label, timeoutMs: '3d' });
        await ctx.step('ship', () => act(`${label}: ship, packed by ${packed?.payload}`, ctx) as string);
      },
    }),
    parent: defineJob({
      name: 'month.count',
      payload: label,
      async handle({ label }, ctx) {
        const end = await ctx.waitForBatch<string>('awaited', { timeoutMs: '3d' });
        await ctx.step('tell', () => act(`${label}: ${end?.results}`, ctx) as string);
      },
    }),
  };
  const payload = { label: 'hourly' };
  const hourly = defineSchedule({
    name: 'hourly',
    cron: '0 * * * *',
    job: jobs.report,
    payload,
    missed: 'all',
  });
  const off = defineSchedule({ name: 'off', cron: '0 * * * *', job: jobs.report, payload: { label: 'off' } });
  const open = alert.custom({ name: 'InvoicesOpen', when: holds });
  const app = createApp({
    jobs: Object.values(jobs) as never[],
    schedules: [hourly, off],
    queues: { ledger: { order: 'group' }, quiet: {} },
    alerts: defineAlerts({
      rules: [open],
      to: {
        name: 'pager',
        send: async (all) => {
          for (const { state } of all) notified(state);
        },
      },
    }),
    signing,
    clock,
    newId,
  });
  return { app, jobs };
}

/** The process must end after this as if it were killed: two of its handlers never do. */
export async function leaveEverything(
  backend: Contract.QueueBackend,
  store: Partial<Contract.Stores> | undefined,
  clock: StoredClock,
): Promise<void> {
  let ids = 0;
  const running = new Set<string>();
  const act = async (what: string, ctx: HandlerContext) => {
    running.add(what);
    if (/^(stuck|in use)/.test(what)) await new Promise(() => {});
    if (/^(failing|left)/.test(what)) throw new Error('The other side is down.');
    if (/^dead/.test(what)) throw new PermanentError('There is no such address.');
    await ctx.progress(5, 10, 'half');
    return `did ${what}`;
  };
  /** A process that dies before it has enqueued what the batch calls. */
  const dying: Contract.QueueBackend = {
    ...backend,
    enqueue: (messages) =>
      messages.some(({ id, job }) => id.includes('uncalled') && job === 'import.done')
        ? Promise.reject(new Error('This process is dead.'))
        : backend.enqueue(messages),
  };
  const { app, jobs } = everythingApp({
    clock,
    act,
    holds: () => true,
    notified: () => {},
    newId: () => `id-${++ids}`,
    signing: keyRing(signingKeys),
  });
  const client = connect(app, dying, store ? { store } : {});
  const add = (job: (typeof jobs)['send'], label: string, options = {}) =>
    client.enqueue(job, { label }, options);
  const operator = createOperator(client, { actor: 'anna', from: 'cli host-1' });
  const work = () =>
    startWorker(app, { backend: dying, ...(store && { store }), untilIdle: true, concurrency: 2 }).done;

  clock.jump(-3 * hourMs);
  await add(jobs.send, 'earlier');
  await tick(app, client);
  await client.schedules.upsert({
    name: 'stored-hourly',
    everyMs: hourMs,
    job: jobs.report,
    payload: { label: 'stored-hourly' },
    missed: 'all',
  });
  await client.schedules.upsert({
    name: 'stored-off',
    cron: '30 2 * * *',
    timezone: 'Europe/Berlin',
    job: jobs.report,
    payload: { label: 'stored-off' },
  });
  await client.schedules.pause('stored-off');
  await client.schedules.pause('off');
  await work();
  clock.jump(2 * hourMs);
  await tick(app, client);
  clock.jump(hourMs);
  await operator.queues.pause('quiet');
  await operator.jobs.pause('report.print');

  await add(jobs.send, 'done', {
    name: 'A label',
    context: { tenantId: 'tenant-1', requestId: 'request-1' },
  });
  await add(jobs.send, 'failing', { maxRetries: 3 });
  await add(jobs.send, 'dead', { priority: 'high' });
  await add(jobs.charge, 'card-1');
  await add(jobs.throttled, 'signed in');
  await add(jobs.ordered, 'failing entry', { group: 'account-1' });
  await add(jobs.rated, 'price-1');
  await add(jobs.broken, 'failing sms 1');
  await add(jobs.broken, 'failing sms 2');
  await client.enqueue(jobs.sleeper, { label: 'sleeper' });
  await client.enqueue(jobs.waiter, { label: 'waiter' });
  await client.enqueue(jobs.parent, { label: 'parent' });
  const items = (...labels: string[]) => labels.map((label) => ({ label }));
  const { child: job, called: onComplete } = jobs;
  await client.batch('called', items('a1', 'a2'), { id: 'called', job, onComplete });
  await client.batch('awaited', items('b1', 'failing b2'), { id: 'awaited', job, keepResults: true });
  await client.batch('half', items('c1', 'failing c2'), { id: 'half', job, onComplete });
  await client.batch('summed', items('d1', 'failing d2'), { id: 'summed', job, onResults: jobs.summed });
  await client.batch('uncalled', items('e1', 'e2'), { id: 'uncalled', job, onComplete });
  await client.chain([jobs.first, [jobs.left, jobs.right], jobs.last], { label: 'text' }, { id: 'chain' });
  await work();

  await client
    .batch('sending', cut(items('f1', 'f2')), { id: 'sending', job, onComplete, chunkSize: 2 })
    .catch(() => {});
  await add(jobs.send, 'cancelled', { delayMs: hourMs });
  await client.cancel(`id-${ids}`);
  await add(jobs.send, 'low', { priority: 'low' });
  await add(jobs.send, 'urgent', { priority: 'critical' });
  await add(jobs.send, 'delayed', { delayMs: hourMs });
  await add(jobs.send, 'in a quiet queue', { queue: 'quiet' });
  await add(jobs.paused, 'paused job');
  await add(jobs.charge, 'card-1');
  await add(jobs.unique, 'unique', { delayMs: 3 * hourMs });
  await add(jobs.debounced, 'debounced, too early');
  await add(jobs.debounced, 'debounced');
  for (const group of ['large', 'small'])
    for (const number of [1, 2]) await add(jobs.grouped, `${group} ${number}`, { group });
  await add(jobs.ordered, 'second entry', { group: 'account-1' });
  await add(jobs.broken, 'sms 3');
  await add(jobs.rated, 'price-2');
  await add(jobs.limited, 'in use');
  await add(jobs.charge, 'stuck card');
  await app.alerts!.evaluate(client as never, 'worker');
  const { metrics } = client.stores;
  const minutes = await metrics!.read({ step: 'minute', from: 0, to: clock.now() + hourMs });
  const old = minutes.filter(({ at }) => at < storedAt - hourMs);
  await metrics!.write(
    old.map((row) => ({ ...row, step: 'hour', at: row.at - (row.at % hourMs), source: '' })),
  );
  await metrics!.write(
    old.map((row) => ({ ...row, step: 'day', at: row.at - (row.at % dayMs) - dayMs, source: '' })),
  );
  // One more worker, which dies with two jobs in its hands, after others have found no room at their limits.
  startWorker(app, { backend: dying, ...(store && { store }), queues: ['shop', 'default'], concurrency: 3 });
  while (!running.has('stuck card') || !running.has('in use')) await new Promise((r) => setTimeout(r, 50));
  await add(jobs.limited, 'waits for a slot');
  await add(jobs.limited, 'waits for a slot too');
  await new Promise((resolve) => setTimeout(resolve, 2_000));
}

/** Two jobs of one group, on their way to another queue. */
export async function leaveOutbox(backend: Contract.QueueBackend, clock: StoredClock): Promise<void> {
  let ids = 0;
  const story = { act: () => {}, holds: () => false, notified: () => {}, newId: () => `row-${++ids}` };
  const { app, jobs } = everythingApp({ clock, ...story, signing: keyRing(signingKeys) });
  const client = connect(app, backend);
  for (const label of ['first row', 'second row'])
    await client.enqueue(jobs.grouped, { label }, { group: 'account-1', priority: 'high' });
}

function* cut<T>(items: readonly T[]): Generator<T> {
  yield* items;
  throw new Error('The file is cut off.');
}
