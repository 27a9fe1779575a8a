/** One trace, from a request over HTTP through two jobs to the webhook that a third party receives. */

import { SpanKind, trace } from '@opentelemetry/api';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, it, onTestFinished } from 'vitest';
import { urlJob } from '../../../core/jobs/url.ts';
import type { AttemptMiddleware } from '../../../core/kernel/app/job.ts';
import { createHttpHandler } from '../../../core/surfaces/http/index.ts';
import { telemetry } from '../../../core/surfaces/otel/index.ts';
import { bench, job } from '../core/kit.ts';
import { httpServer } from '../jobs/kit.ts';
import { plain } from '../sandbox/jobs.ts';
import { createBench } from '../sandbox/kit.ts';
import { activeTraceparent, ancestry, traceparentOf, watch, withContextManager } from './kit.ts';

withContextManager();

const caller = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const key = 'k'.repeat(40);

describe('one trace', () => {
  it('goes from HTTP over two jobs to the receiver of a webhook', async () => {
    const server = await httpServer((_, response) => response.end('thanks'));
    const host = `127.0.0.1:${server.port}`;
    const webhook = urlJob({ queue: 'hooks', allowPrivate: [host] });
    const inside: (string | null)[] = [];
    const order = job({
      name: 'order',
      queue: 'orders',
      async handle(_, ctx) {
        inside.push(activeTraceparent(), ctx.context.traceparent ?? null);
        await ctx.enqueue(webhook, { url: `http://${host}/`, body: { card: '4111 1111' } });
      },
    });
    const t = watch({}, { jobs: [order, webhook] });
    const http = createHttpHandler(t.client, { apiKeys: [{ id: 'shop', key }] });
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      traceparent: caller,
      tracestate: 'vendor=1',
    };
    const request = { method: 'POST', headers, body: '{"password":"hunter2"}' };
    expect((await http(new Request('http://host.example/jobs/order', request))).status).toBe(202);
    expect(await t.next()).toMatchObject({ outcome: 'acked' });
    expect(await t.next()).toMatchObject({ outcome: 'acked' });

    const spans = t.spans();
    const last = t.span('process hooks');
    expect(ancestry(spans, last)).toEqual(['send orders', 'process orders', 'send hooks', 'process hooks']);
    expect(spans.map(({ name, kind }) => [name, kind])).toEqual([
      ['send orders', SpanKind.PRODUCER],
      ['send hooks', SpanKind.PRODUCER],
      ['process orders', SpanKind.CONSUMER],
      ['process hooks', SpanKind.CONSUMER],
    ]);
    const [, traceId, callerId] = caller.split('-');
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([traceId]));
    expect(t.span('send orders').parentSpanContext).toMatchObject({ spanId: callerId, isRemote: true });
    const running = traceparentOf(t.span('process orders'));
    expect(inside).toEqual([running, running]);
    const sent = traceparentOf(t.span('send orders'));
    expect(t.events.find(({ type }) => type === 'job.started')).toMatchObject({ traceparent: sent });
    expect(server.seen).toHaveLength(1);
    expect(server.seen[0]!.headers.traceparent).toBe(traceparentOf(last));
    expect(server.seen[0]!.headers.tracestate).toBeUndefined();
    expect(JSON.stringify(spans.map(({ attributes, events }) => [attributes, events]))).not.toMatch(
      /hunter2|4111/,
    );
  });

  it('says what the conventions ask for', async () => {
    const one = job({ queue: 'mail' });
    const t = watch({}, { jobs: [one] });
    await t.once(one);
    const common = {
      'messaging.system': 'longshore',
      'messaging.system.name': 'longshore',
      'messaging.destination.name': 'mail',
      'messaging.longshore.job': 'work',
      'messaging.message.id': 'id-1',
    };
    const operation = (name: string) => ({
      'messaging.operation.name': name,
      'messaging.operation.type': name,
    });
    expect(t.span('send mail').attributes).toEqual({ ...common, ...operation('send') });
    expect(t.span('process mail').attributes).toEqual({
      ...common,
      ...operation('process'),
      'messaging.longshore.attempt': 1,
    });
    const { traceId, spanId } = t.span('send mail').spanContext();
    expect(t.span('process mail').links).toMatchObject([{ context: { traceId, spanId } }]);
  });

  it('has one span for a call with many jobs, and each of them below it', async () => {
    const one = job();
    const t = watch({}, { jobs: [one] });
    await t.client.enqueueMany(one, [1, 2, 3]);
    for (let i = 0; i < 3; i++) await t.next();
    const send = t.span('send default');
    expect(send.attributes).toMatchObject({ 'messaging.batch.message_count': 3 });
    expect(send.attributes).not.toHaveProperty('messaging.message.id');
    const parents = t.spans().map(({ parentSpanContext }) => parentSpanContext?.spanId ?? null);
    expect(parents).toEqual([null, ...Array(3).fill(send.spanContext().spanId)]);
  });

  it('goes on below the span that is active in the code that enqueues', async () => {
    const one = job();
    const t = watch({}, { jobs: [one] });
    await t.tracer.startActiveSpan('request', async (request) => {
      await t.client.enqueue(one, {});
      request.end();
    });
    await t.next();
    const names = ancestry(t.spans(), t.span('process default'));
    expect(names).toEqual(['request', 'send default', 'process default']);
  });

  it('is that of the given context, and not that of the code that runs', async () => {
    const one = job();
    const t = watch({}, { jobs: [one] });
    await t.tracer.startActiveSpan('other', async (other) => {
      await t.client.enqueue(one, {}, { context: { traceparent: caller } });
      other.end();
    });
    expect(t.span('send default').parentSpanContext?.spanId).toBe(caller.split('-')[2]);
  });

  it('begins where the context says nothing that makes sense', async () => {
    const one = job();
    const t = watch({}, { jobs: [one] });
    await t.once(one, {}, { context: { traceparent: '00-aa-bb-01' } });
    expect(ancestry(t.spans(), t.span('process default'))).toEqual(['send default', 'process default']);
  });

  it('has each attempt of a job below the span that sent it', async () => {
    const one = job({
      retry: () => 1_000,
      handle: (_, { attempt }) => {
        if (attempt === 1) throw new TypeError('at first');
      },
    });
    const t = watch({}, { jobs: [one] });
    await t.once(one);
    t.clock.advance(1_000);
    await t.next();
    const [send, ...attempts] = t.spans();
    const facts = attempts.map(({ attributes, parentSpanContext }) => [
      attributes['messaging.longshore.attempt'],
      parentSpanContext?.spanId,
    ]);
    expect(facts).toEqual([1, 2].map((attempt) => [attempt, send!.spanContext().spanId]));
  });
});

describe('attempts that are linked', () => {
  it('begin a trace of their own', async () => {
    const one = job();
    const t = watch({ attempts: 'linked' }, { jobs: [one] });
    await t.once(one);
    const { traceId, spanId } = t.span('send default').spanContext();
    const span = t.span('process default');
    expect(span.parentSpanContext).toBeUndefined();
    expect(span.spanContext().traceId).not.toBe(traceId);
    expect(span.links).toMatchObject([{ context: { traceId, spanId } }]);
  });

  it.each(['linked', 'child'] as const)('and %s ones know the span of the invocation', async (attempts) => {
    const one = job();
    const t = watch({ attempts }, { jobs: [one] });
    await t.client.enqueue(one, {});
    const invocation = await t.tracer.startActiveSpan('invocation', async (span) => {
      await t.next();
      span.end();
      return span.spanContext().spanId;
    });
    const send = t.span('send default').spanContext().spanId;
    const span = t.span('process default');
    const links = span.links.map(({ context }) => context.spanId);
    expect([span.parentSpanContext?.spanId, ...links]).toEqual(
      attempts === 'child' ? [send, send, invocation] : [invocation, send],
    );
  });
});

describe('a worker beside the code that enqueues', () => {
  it('does not run its jobs inside of the span that was active when it woke', async () => {
    const active: (string | null)[] = [];
    const look: AttemptMiddleware = (_, next) => {
      active.push(activeTraceparent());
      return next();
    };
    const { own, tracer } = watch();
    const t = createBench([plain], {}, [look, own]);
    onTestFinished(async () => void (await t.worker.stop()));
    for (let n = 0; n < 2; n++) {
      await tracer.startActiveSpan('request', async (request) => {
        await t.run(plain, { n });
        request.end();
      });
    }
    expect(active).toEqual([null, null]);
  });
});

describe('the global provider', () => {
  it('is used also where it is registered later', async () => {
    const one = job();
    const b = bench({ jobs: [one], use: [telemetry()] });
    const exporter = new InMemorySpanExporter();
    trace.setGlobalTracerProvider(
      new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }),
    );
    onTestFinished(() => trace.disable());
    await b.once(one);
    const names = exporter.getFinishedSpans().map(({ name }) => name);
    expect(names).toEqual(['send default', 'process default']);
  });
});
