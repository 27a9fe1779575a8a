/** The SDK of OpenTelemetry with everything in memory, and an app that it watches. */

import { context as otel, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { MeterProvider, MetricReader } from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll } from 'vitest';
import type { TelemetryOptions } from '../../../core/surfaces/otel/index.ts';
import { telemetry } from '../../../core/surfaces/otel/index.ts';
import { type BenchOptions, bench } from '../core/kit.ts';

/** The one thing that is global: which span is active. */
export function withContextManager(): void {
  beforeAll(() => void otel.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
  afterAll(() => otel.disable());
}

class Reader extends MetricReader {
  protected override async onShutdown(): Promise<void> {}
  protected override async onForceFlush(): Promise<void> {}
}

export interface WatchOptions extends TelemetryOptions {
  readonly sampler?: Sampler;
  readonly processor?: SpanProcessor;
}

export function watch({ sampler, processor, ...options }: WatchOptions = {}, parts: BenchOptions = {}) {
  const exporter = new InMemorySpanExporter();
  const spanProcessors = [processor ?? new SimpleSpanProcessor(exporter)];
  const tracerProvider = new BasicTracerProvider({ spanProcessors, ...(sampler && { sampler }) });
  const reader = new Reader();
  const meterProvider = new MeterProvider({ readers: [reader] });
  const own = telemetry({ tracerProvider, meterProvider, ...options });
  const b = bench({ ...parts, use: [own, ...(parts.use ?? [])] });
  return {
    ...b,
    own,
    tracer: tracerProvider.getTracer('test'),
    /** In the order in which they ended. */
    spans: (): ReadableSpan[] => exporter.getFinishedSpans(),
    span: (name: string): ReadableSpan => {
      const found = exporter.getFinishedSpans().find((one) => one.name === name);
      if (!found) throw new Error(`Expected a span "${name}", found none.`);
      return found;
    },
    async metrics() {
      const { resourceMetrics } = await reader.collect();
      return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
    },
  };
}

export type Watched = ReturnType<typeof watch>;

export const traceparentOf = (span: ReadableSpan): string => {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return `00-${traceId}-${spanId}-0${traceFlags}`;
};

/** The spans from the root down to this one, by name; only parents that were exported. */
export function ancestry(spans: readonly ReadableSpan[], span: ReadableSpan): string[] {
  const parent = spans.find((one) => one.spanContext().spanId === span.parentSpanContext?.spanId);
  return [...(parent ? ancestry(spans, parent) : []), span.name];
}

export const activeTraceparent = (): string | null => {
  const context = trace.getActiveSpan()?.spanContext();
  return context ? `00-${context.traceId}-${context.spanId}-0${context.traceFlags}` : null;
};
