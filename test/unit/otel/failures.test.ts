/** What a span says of a failure, and what it must never say; and that telemetry itself can fail no job. */

import { SpanStatusCode, type Tracer, type TracerProvider } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  BatchSpanProcessor,
  type ReadableSpan,
  SimpleSpanProcessor,
  type SpanExporter,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import { PermanentError, RetryAfterError, SnoozeError } from '../../../core/base/errors.ts';
import { readEnvelope } from '../../../core/envelope/envelope.ts';
import { defineJob, type Job } from '../../../core/kernel/app/job.ts';
import { telemetry } from '../../../core/surfaces/otel/index.ts';
import { bench, job, refusalText, ring, startMs, until } from '../core/kit.ts';
import { traceparentOf, watch, withContextManager } from './kit.ts';

withContextManager();

const throwing = (error: unknown): Job =>
  job({
    handle: () => {
      throw error;
    },
  });
const exceptionOf = (span: ReadableSpan) =>
  span.events.map(({ name, attributes }) => ({ name, ...attributes }));

describe('the span of a failed attempt', () => {
  it('has the class and the functions, and nothing that was said', async () => {
    const error = new RangeError('card 4111 1111 is refused\n    at the till (secret)');
    const one = throwing(Object.assign(error, { authorization: 'Bearer hunter2' }));
    const t = watch({}, { jobs: [one] });
    expect((await t.once(one, { card: '4111 1111' })).outcome).toBe('requeued');
    const span = t.span('process default');
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(span.attributes['error.type']).toBe('RangeError');
    const [exception] = exceptionOf(span);
    expect(exception).toEqual({
      name: 'exception',
      'exception.type': 'RangeError',
      'exception.stacktrace': expect.stringMatching(/^ +at .*failures\.test\.ts/),
    });
    expect(JSON.stringify(exception)).not.toMatch(/4111|hunter2|secret|till/);
  });

  it('has the functions also behind a long message, and of what caused it', async () => {
    const said = `secret ${'x'.repeat(3_000)}\n    at secret (card 4111:1:1)\n`;
    const cause = new TypeError(said);
    cause.stack = `TypeError: ${said}\n    at deep (/app/deep.ts:1:2)`;
    const one = throwing(new RangeError(said, { cause }));
    const t = watch({}, { jobs: [one] });
    await t.once(one);
    const [exception] = exceptionOf(t.span('process default'));
    expect(exception).toMatchObject({
      'exception.stacktrace': expect.stringMatching(
        /^ +at .*failures\.test\.ts[\s\S]*\n +at deep \(\/app\/deep\.ts:1:2\)$/,
      ),
    });
    expect(JSON.stringify(exception)).not.toMatch(/secret|4111/);
  });

  it('has the message where that is asked for', async () => {
    const one = throwing(new Error('no stock'));
    const t = watch({ errorMessages: true }, { jobs: [one] });
    await t.once(one);
    const span = t.span('process default');
    expect(span.status).toEqual({ code: SpanStatusCode.ERROR, message: 'HANDLER: no stock' });
    expect(exceptionOf(span)[0]).toMatchObject({
      'exception.message': 'no stock',
      'exception.stacktrace': expect.stringMatching(/^HANDLER: no stock\n +at /),
    });
  });

  it.each<[error: unknown, type: string]>([
    [new PermanentError('x'), 'PermanentError'],
    [new RetryAfterError(1), 'RetryAfterError'],
    [Object.assign(new Error('x'), { name: 'card 4111' }), '_OTHER'],
    ['just a text', '_OTHER'],
    [undefined, '_OTHER'],
    [
      Object.defineProperty(new Error('x'), 'name', {
        get: () => {
          throw new Error('hostile');
        },
      }),
      '_OTHER',
    ],
  ])('says what kind of error it was: %#', async (error, type) => {
    const one = throwing(error);
    const t = watch({}, { jobs: [one] });
    expect((await t.once(one)).outcome).toMatch(/requeued|dead-lettered/);
    expect(t.span('process default').attributes['error.type']).toBe(type);
  });

  it('is none of an attempt that snoozes', async () => {
    const one = throwing(new SnoozeError(1_000));
    const t = watch({}, { jobs: [one] });
    expect((await t.once(one)).outcome).toBe('requeued');
    const { status, attributes, events } = t.span('process default');
    expect([status.code, attributes['error.type'], events]).toEqual([SpanStatusCode.UNSET, undefined, []]);
  });

  it('ends with its attempt, also when the handler never does', async () => {
    const one = job({ timeoutMs: 1_000, handle: () => new Promise(() => {}) });
    const t = watch({}, { jobs: [one] });
    await t.client.enqueue(one, {});
    const run = await t.take();
    const attempt = t.run(run);
    await until(() => run.stopTimer !== null);
    t.clock.advance(1_000);
    expect((await attempt).outcome).toBe('requeued');
    await until(() => t.spans().length === 2);
    expect(t.span('process default').attributes['error.type']).toBe('TIMEOUT');
  });
});

describe('the span of a failed call', () => {
  const strict = defineJob({ name: 'strict', payload: z.object({ card: z.literal('x') }), handle: () => {} });

  it('has the code, and nothing of the payload', async () => {
    const t = watch({}, { jobs: [strict] });
    const wrong = { card: '4111' } as unknown as { card: 'x' };
    await expect(t.client.enqueue(strict, wrong)).rejects.toMatchObject({ code: 'PAYLOAD' });
    const span = t.span('send default');
    expect(span.status.code).toBe(SpanStatusCode.ERROR);
    expect(span.attributes['error.type']).toBe('PAYLOAD');
    expect(JSON.stringify([span.attributes, span.events, span.status])).not.toContain('4111');
  });

  it('says it also when only some could not be enqueued', async () => {
    const t = watch({}, { jobs: [strict] });
    await t.client.enqueueMany(strict, [{ card: 'x' }, { card: 'y' as 'x' }]);
    expect(t.span('send default').attributes).toMatchObject({
      'error.type': 'PAYLOAD',
      'messaging.batch.message_count': 2,
    });
  });
});

describe('a trace that is not sampled', () => {
  const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00';

  it.each([
    ['by its caller', undefined, caller],
    ['by our own sampler', new AlwaysOffSampler(), undefined],
  ])('%s is exported by nobody, and stays one trace', async (_, sampler, traceparent) => {
    const seen: unknown[] = [];
    const child = job({ name: 'child', queue: 'children' });
    const one = job({
      handle(__, ctx) {
        seen.push(ctx.context.traceparent);
        return ctx.enqueue(child, {});
      },
    });
    const t = watch({ ...(sampler && { sampler }) }, { jobs: [one, child] });
    await t.once(one, {}, traceparent === undefined ? {} : { context: { traceparent } });
    const { lease } = await t.take(60_000, ['children']);
    const { context } = readEnvelope(lease.body, { ring, now: startMs, maxBytes: 1_048_576 });
    expect(t.spans()).toEqual([]);
    expect(seen[0]).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/);
    expect(context!.traceparent!.split('-')[1]).toBe((seen[0] as string).split('-')[1]);
    if (traceparent) expect(seen[0]).toContain(caller.split('-')[1]);
  });
});

describe('telemetry that fails', () => {
  const boom = (): never => {
    throw new Error('boom');
  };
  const processor = (parts: Partial<SpanProcessor>): SpanProcessor => ({
    onStart: () => {},
    onEnd: () => {},
    shutdown: async () => {},
    forceFlush: async () => {},
    ...parts,
  });
  const exporter = (send: SpanExporter['export']): SpanExporter => ({
    export: send,
    shutdown: async () => {},
  });
  const brokenTracer: TracerProvider = { getTracer: () => ({ startSpan: boom }) as unknown as Tracer };
  const brokenMeter = { getMeter: boom };

  it.each<[string, warnings: number, Parameters<typeof watch>[0]]>([
    ['when a span begins', 1, { processor: processor({ onStart: boom }) }],
    ['when a span ends', 1, { processor: processor({ onEnd: boom }) }],
    ['when a span is exported', 0, { processor: new SimpleSpanProcessor(exporter(boom)) }],
    ['and never answers', 0, { processor: new SimpleSpanProcessor(exporter(() => {})) }],
    [
      'and never answers a batch',
      0,
      {
        processor: new BatchSpanProcessor(
          exporter(() => {}),
          { maxExportBatchSize: 1 },
        ),
      },
    ],
    ['in the tracer', 1, { tracerProvider: brokenTracer }],
    ['in the meter', 1, { meterProvider: brokenMeter }],
  ])('%s costs no job and no output, and is told once', async (_, warnings, options) => {
    const said = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => said.mockRestore());
    const one = job({ handle: (payload) => payload });
    const t = watch(options, { jobs: [one] });
    for (const id of ['id-1', 'id-2']) {
      expect(await t.once(one, id)).toMatchObject({ outcome: 'acked', settled: true });
      expect((await t.client.status(id))?.output).toBe(id);
    }
    const message = 'Telemetry has failed, and the job goes on: boom';
    expect(said.mock.calls).toEqual(Array(warnings).fill([message, { code: 'LONGSHORE_TELEMETRY' }]));
  });
});

describe('without an SDK', () => {
  it('a trace of the caller goes on as it came', async () => {
    const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const one = job({ handle: (_, ctx) => ctx.context });
    const b = bench({ jobs: [one], use: [telemetry()] });
    await b.once(one, {}, { context: { traceparent: caller, tenantId: 'acme' } });
    expect((await b.client.status('id-1'))?.output).toEqual({ traceparent: caller, tenantId: 'acme' });
    await b.once(one);
    expect((await b.client.status('id-2'))?.output).toEqual({});
  });

  it('a wrong option is refused all the same', async () => {
    expect(await refusalText(() => telemetry({ attempts: 'parent' as 'child' }))).toBe(
      "CONFIG: telemetry() expects attempts to be 'child' or 'linked', got \"parent\".",
    );
  });
});

describe('the text of a trace', () => {
  it('is that of W3C Trace Context', async () => {
    const one = job({ handle: (_, ctx) => ctx.context.traceparent });
    const t = watch({}, { jobs: [one] });
    await t.once(one);
    expect((await t.client.status('id-1'))?.output).toBe(traceparentOf(t.span('process default')));
  });
});
