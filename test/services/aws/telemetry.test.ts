/** Telemetry in a Lambda function: linked to its invocation, and flushed before the function is frozen. */

import { BasicTracerProvider, BatchSpanProcessor, InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { flushing, telemetry } from '../../../core/surfaces/otel/index.ts';
import { lambda } from '../../../functions/aws/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { createPoller } from '../../../local/simulate/lambda/poller.ts';
import { ancestry, withContextManager } from '../../unit/otel/kit.ts';
import { benchesHere } from './bench.ts';

const benches = benchesHere();
withContextManager();

describe('a function on Lambda', () => {
  it('has sent the spans of its jobs when its invocation ends', async () => {
    const bench = await benches.open({ attributes: { VisibilityTimeout: '360' } });
    const { clock } = bench.time;
    const exporter = new InMemorySpanExporter();
    // An hour: nothing is sent but what is flushed.
    const processor = new BatchSpanProcessor(exporter, { scheduledDelayMillis: 3_600_000 });
    const tracerProvider = new BasicTracerProvider({ spanProcessors: [processor] });
    const job = defineJob({ name: 'job', queue: 'mail', payload: z.object({}), handle: () => 'sent' });
    const app = createApp({
      jobs: [job],
      signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
      clock,
      use: [telemetry({ tracerProvider })],
    });
    const store = memoryStore({ clock });
    const { worker } = lambda(app, { backend: bench.backend, store, log: false });
    const tracer = tracerProvider.getTracer('aws');
    const invoke = flushing(
      (...args: Parameters<typeof worker>) =>
        tracer.startActiveSpan('invocation', (span) => worker(...args).finally(() => span.end())),
      () => tracerProvider.forceFlush(),
    );
    const { url, arn } = bench;
    const { client } = benches.endpoint;
    const poller = createPoller({ client, url, arn, clock, batchSize: 10, invoke });
    await connect(app, bench.backend, { store }).enqueueMany(job, [{}, {}]);
    expect(await poller.poll(60_000)).toMatchObject({ done: 2, thrown: null });

    const spans = exporter.getFinishedSpans();
    expect(spans.map(({ name }) => name).toSorted()).toEqual([
      'invocation',
      'process mail',
      'process mail',
      'send mail',
    ]);
    const invocation = spans.find(({ name }) => name === 'invocation')!.spanContext().spanId;
    for (const span of spans.filter(({ name }) => name === 'process mail')) {
      expect(ancestry(spans, span)).toEqual(['send mail', 'process mail']);
      expect(span.links.map(({ context }) => context.spanId)).toContain(invocation);
    }
    await tracerProvider.shutdown();
  });
});
