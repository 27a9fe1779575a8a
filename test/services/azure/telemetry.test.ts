/** Telemetry in a function app: the trace goes through Service Bus, also through the copy that is a retry. */

import { BasicTracerProvider, BatchSpanProcessor, InMemorySpanExporter } from '@opentelemetry/sdk-trace-base';
import { expect, it } from 'vitest';
import { telemetry } from '../../../core/surfaces/otel/index.ts';
import { ancestry, withContextManager } from '../../unit/otel/kit.ts';
import { functionAppsHere } from './kit.ts';

const open = functionAppsHere();
withContextManager();

it('a function app traces its jobs through Service Bus', async () => {
  const exporter = new InMemorySpanExporter();
  const processor = new BatchSpanProcessor(exporter, { scheduledDelayMillis: 3_600_000 });
  const tracerProvider = new BasicTracerProvider({ spanProcessors: [processor] });
  const t = await open({ use: [telemetry({ tracerProvider })] });
  let attempts = 0;
  t.behaviour.set('a', () => {
    if (++attempts === 1) throw new TypeError('not now');
  });
  await t.enqueue('a');
  await t.trigger.poll('mail');
  t.clock.advance(60_000);
  await t.trigger.poll('mail');
  expect(t.settledAs()).toEqual(['requeued 1', 'acked 2']);
  await tracerProvider.forceFlush();
  const spans = exporter.getFinishedSpans();
  const processed = spans.filter(({ name }) => name === 'process mail');
  expect(processed.map((span) => ancestry(spans, span))).toEqual([
    ['send mail', 'process mail'],
    ['send mail', 'process mail'],
  ]);
  expect(processed.map(({ attributes }) => attributes['error.type'])).toEqual(['TypeError', undefined]);
  await tracerProvider.shutdown();
});
