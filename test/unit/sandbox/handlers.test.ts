/** What a handler has and gives in an isolate is what it has and gives outside of one. */

import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import * as jobs from './jobs.ts';
import { createBench } from './kit.ts';

const all = Object.values(jobs);

describe.each([
  ['thread', jobs.inThread],
  ['process', jobs.inProcess],
] as const)('a handler in a %s', (kind, job) => {
  // One worker for them all: a warm isolate makes the tests quick, and must make no difference.
  const t = createBench(all, { concurrency: 4 });
  afterAll(() => t.worker.stop());

  it('gets its context, the output of the schema and a live signal', async () => {
    const context = { tenantId: 'acme', actorId: 'ada' };
    const day = '2026-01-01T00:00:00.000Z';
    const record = await t.run(job, { act: 'facts', day }, { context, idempotencyKey: 'k7' });
    expect(record.output).toEqual({
      facts: {
        id: record.id,
        job: job.name,
        queue: 'default',
        attempt: 1,
        maxAttempts: 1,
        previouslyCrashed: false,
        idempotencyKey: 'k7',
        context,
        deadlineAt: record.attempts[0]!.startedAt + 10_000,
      },
      signal: [true, false],
      context,
      day: Date.parse(day),
    });
  });

  it('logs, reports progress and enqueues through the worker', async () => {
    const record = await t.run(job, { act: 'ask', n: 4 }, { context: { tenantId: 'acme' } });
    const { kept, id } = record.output as { kept: boolean; id: string };
    expect(kept).toBe(true);
    expect(record.progress).toMatchObject({ done: 4, total: 10, message: 'half' });
    expect(await t.client.status(id)).toMatchObject({ job: 'plain', priority: 2 });
    const logs = t.eventsOf('job.log').filter((event) => event.id === record.id);
    const fields = { n: 4, call: '[function]', at: new Date(5) };
    expect(logs).toMatchObject([{ message: 'asking', job: job.name, tenantId: 'acme', fields }]);
    const text = 'asking {"n":4,"password":"[masked]","call":"[function]","at":"1970-01-01T00:00:00.005Z"}';
    expect(record.attempts[0]).toMatchObject({ worker: t.worker.id, log: [{ text }] });
    const settled = () => t.eventsOf('job.settled').filter((event) => event.id === id);
    await expect.poll(settled).toMatchObject([{ tenantId: 'acme' }]);
  });

  it('is counted with the memory of its isolate', async () => {
    const own = createBench(all);
    await own.run(job, { act: 'facts', day: '2026-01-01T00:00:00.000Z' });
    await own.worker.stop(); // which writes the numbers
    const { jobs } = await own.client.metrics();
    const mib = 1024 * 1024;
    // A thread tells its heap, a process all that it had resident.
    const [least, most] = kind === 'thread' ? [1, 200] : [20, 1000];
    const { memory } = jobs.find(({ job: name }) => name === job.name)!;
    expect(memory!.max / mib).toBeGreaterThan(least);
    expect(memory!.max / mib).toBeLessThan(most);
  });

  it('meets the errors of enqueue as it would outside', async () => {
    const small = createBench(all.filter((one) => one !== jobs.unknown));
    onTestFinished(async () => void (await small.worker.stop()));
    const { output } = await small.run(job, { act: 'refused' });
    expect(output).toEqual([
      expect.stringMatching(/^true UNKNOWN_JOB: Job "unknown" is not among the app's jobs/),
      expect.stringMatching(/^true PAYLOAD: The payload does not fit .* n$/),
      expect.stringMatching(/^true PAYLOAD: Expected plain JSON data at payload.n, got a Map/),
      expect.stringMatching(/^true OPTION: Expected delayMs to be 0 or more, got -1/),
      expect.stringMatching(/^true OPTION: Expected plain data, got a value that cannot leave the isolate/),
    ]);
  });

  it('reports progress for every row, of which the worker writes few and the last', async () => {
    const before = t.reports();
    const record = await t.run(job, { act: 'rows', n: 20_000 });
    expect(record).toMatchObject({ output: true, progress: { done: 20_000, message: 'row 20000' } });
    // And perhaps one between, when the machine was busy for the 100 ms that lie between two of them.
    expect(t.reports() - before).toBeLessThanOrEqual(3);
  });

  it('says nothing else to the worker, whatever it sends', async () => {
    const record = await t.run(job, { act: 'saysMore' });
    expect(record).toMatchObject({ status: 'completed', output: { argv: 2 } });
    expect(JSON.stringify(record.output)).not.toMatch(/nonce/);
  });

  it('keeps what a library sends to itself, and answers it', async () => {
    expect(await t.run(job, { act: 'saysMuch', n: 100_000 })).toMatchObject({ output: true });
  });

  it('ends an attempt that floods the channel', async () => {
    const { attempts } = await t.run(job, { act: 'floods', n: 1_000 });
    expect(attempts[0]!.error).toEqual({
      code: 'HANDLER',
      message: expect.stringMatching(/^The handler sent 1000 messages over the channel/),
    });
    expect(await t.run(job, { act: 'quick', n: 1 })).toMatchObject({ output: 2 });
  });

  it('may send a few in each attempt', async () => {
    const own = createBench(all, { concurrency: 1 });
    onTestFinished(async () => void (await own.worker.stop()));
    for (let round = 0; round < 3; round++)
      expect(await own.run(job, { act: 'saysFew', n: 450 })).toMatchObject({ status: 'completed' });
  });

  it('logs as much as its worker reads, and loses nothing', async () => {
    const record = await t.run(job, { act: 'logsInTurn', n: 3_000 });
    const mine = t.events.filter((event) => 'id' in event && event.id === record.id);
    expect(mine.filter(({ type }) => type === 'job.log')).toHaveLength(3_000);
    expect(mine.filter(({ type }) => type === 'job.warning')).toEqual([]);
  });

  it.each([
    ['logs', 20_000, 900, 1_100],
    ['logsLong', 1, 2, 2],
  ])('logs no more at once than the worker can hold, which is told once: %s', async (act, n, least, most) => {
    const record = await t.run(job, { act, n });
    const mine = t.events.filter((event) => 'id' in event && event.id === record.id);
    const logged = mine.filter(({ type }) => type === 'job.log').length;
    expect(logged).toBeGreaterThanOrEqual(least);
    expect(logged).toBeLessThanOrEqual(most);
    expect(mine.filter(({ type }) => type === 'job.warning')).toMatchObject([
      { message: expect.stringMatching(/^The handler logs faster than its worker reads/) },
    ]);
  });

  it.each([
    ['quick', 'acked', 6, null],
    ['nothing', 'acked', null, null],
    ['cycle', 'acked', null, /output is not kept: Converting circular/],
    ['long', 'acked', null, /output is not kept: it has 70002 characters/],
  ])('returns from "%s" as it would outside', async (act, outcome, output, warning) => {
    const record = await t.run(job, { act, n: 3 });
    expect(record).toMatchObject({ attempts: [{ outcome }], output });
    const mine = t.eventsOf('job.warning').filter(({ id }) => id === record.id);
    const warnings = mine.map(({ message }) => message);
    expect(warnings).toEqual(warning === null ? [] : [expect.stringMatching(warning)]);
  });

  it.each([
    ['permanent', 'permanent', 'HANDLER', 'no invoice 7'],
    ['ours', 'exhausted', 'LIMIT', 'too much for me'],
    ['nan', 'exhausted', 'HANDLER', 'retry after 1 ms'],
    ['endlessNap', 'exhausted', 'HANDLER', 'snoozed for 1 ms'],
    ['noCode', 'exhausted', 'HANDLER', 'none of ours'],
    ['typeError', 'exhausted', 'HANDLER', 'not a function'],
    ['caused', 'exhausted', 'HANDLER', 'no rows'],
    ['coded', 'exhausted', 'HANDLER', 'connection reset'],
    ['text', 'exhausted', 'HANDLER', 'just a text'],
    ['exit', 'exhausted', 'HANDLER', `The handler's ${kind} ended with exit code 3 before the handler did.`],
    ['reject', 'exhausted', 'HANDLER', 'Uncaught error outside of the handler: nobody waits for me'],
    ['uncaught', 'exhausted', 'HANDLER', 'Uncaught error outside of the handler: from a timer'],
  ])('fails with "%s" as %s', async (act, reason, code, message) => {
    const record = await t.run(job, { act, n: 3 });
    expect(record).toMatchObject({ status: 'failed', reason, attempts: [{ error: { code, message } }] });
    if (act === 'typeError')
      expect(record.attempts[0]!.error!.stack).toMatch(/^TypeError: not a function\n.*jobs\.ts/s);
    if (act === 'caused')
      expect(record.attempts[0]!.error!.stack).toMatch(
        /\ncaused by: TypeError: connection reset\n.*jobs\.ts/s,
      );
    expect(await t.run(jobs.plain, { n: 1 }), 'the worker lives on').toMatchObject({ output: 2 });
    expect(await t.run(job, { act: 'quick', n: 1 })).toMatchObject({ output: 2 });
  });

  it('can snooze, which spends no attempt', async () => {
    const { id } = await t.client.enqueue(job, { act: 'snooze' }, { maxRetries: 0 });
    const settled = () => t.eventsOf('job.settled').filter((event) => event.id === id);
    await expect
      .poll(settled)
      .toMatchObject([
        { outcome: 'requeued', counted: false, delayMs: 4_321, error: 'HANDLER: the bank is closed' },
      ]);
  });

  it('can ask for a retry at a time of its choice', async () => {
    const { id } = await t.client.enqueue(job, { act: 'retryAfter' }, { maxRetries: 1 });
    const settled = () => t.eventsOf('job.settled').filter((event) => event.id === id);
    await expect.poll(settled).toMatchObject([{ outcome: 'requeued', delayMs: 4_321 }]);
  });

  it('keeps no way to act once its attempt has ended', async () => {
    await t.run(job, { act: 'afterwards' });
    await expect
      .poll(async () => (await t.run(job, { act: 'sawAfterwards' })).output)
      .toEqual({ kept: false, refusal: 'LEASE_LOST' });
    expect(t.eventsOf('job.log').filter(({ message }) => message === 'too late')).toEqual([]);
  });

  it('does not see the signing keys', async () => {
    process.env.LONGSHORE_SIGNING_KEYS = 'secret';
    onTestFinished(() => void delete process.env.LONGSHORE_SIGNING_KEYS);
    expect((await t.run(job, { act: 'where' })).output).toMatchObject({ key: null });
  });
});
