/** OpenTelemetry as a middleware: a span and metrics for each attempt and each enqueue call. */

import {
  type Attributes,
  type MeterProvider,
  metrics,
  context as otel,
  type Span,
  SpanKind,
  type TracerProvider,
  trace,
} from '@opentelemetry/api';
import { config, SnoozeError, shown } from '../../base/errors.ts';
import type { SendResult } from '../../contract/queue.ts';
import { currentContext, withContext } from '../../kernel/app/context.ts';
import type { HandlerContext } from '../../kernel/app/job.ts';
import type { EnqueueCall } from '../../kernel/app/middleware.ts';
import { errorType, type Operation, operationOf } from './names.ts';
import { below, fail, type Position, positionOfAttempt, positionOfSend, start } from './spans.ts';
import { warnOnce } from './warn-once.ts';

export interface TelemetryOptions {
  /**
   * `child`: the span of an attempt is a child of the span that enqueued the job, in the same trace. `linked`: it is in another trace,
   * with a link to that span. @default 'child'
   */
  readonly attempts?: 'child' | 'linked';
  /** Whether spans include error messages. Messages may contain parts of a payload. @default false */
  readonly errorMessages?: boolean;
  /** @default the global tracer provider */
  readonly tracerProvider?: TracerProvider;
  /** @default the global meter provider, read at the first use */
  readonly meterProvider?: MeterProvider;
}

export interface Telemetry {
  attempt(ctx: HandlerContext, next: () => Promise<unknown>): Promise<unknown>;
  enqueue(call: EnqueueCall, next: () => Promise<SendResult[]>): Promise<SendResult[]>;
}

/** For `createApp({ use: [telemetry()] })`. Throws `CONFIG` for a wrong option. */
export function telemetry(options: TelemetryOptions = {}): Telemetry {
  const { attempts = 'child', errorMessages = false, tracerProvider = trace, meterProvider } = options;
  if (attempts !== 'child' && attempts !== 'linked')
    throw config(`telemetry() expects attempts to be 'child' or 'linked', got ${shown(attempts)}.`);
  const tracer = tracerProvider.getTracer('longshore');
  const warn = warnOnce('Telemetry has failed, and the job goes on');
  let recorder: Recorder | undefined;
  const record = (): Recorder => {
    recorder ??= recorderOf(meterProvider);
    return recorder;
  };

  /** An error in a provider, processor or exporter must not fail the job. */
  function safely<T>(work: () => T): T | null {
    try {
      return work();
    } catch (error) {
      warn(error);
      return null;
    }
  }

  /** Runs `next` in a span. `next` runs exactly once and its result or error is passed on, even if telemetry fails. */
  async function within<T>(
    operation: Operation,
    kind: SpanKind,
    position: () => Position,
    next: () => Promise<T>,
    ended: (span: Span | null, outcome: Outcome<T>, durationMs: number) => void,
  ): Promise<T> {
    const startedAt = performance.now();
    const started = safely(() => start(tracer, operation, kind, position()));
    const context = currentContext() ?? {};
    const inside = (started && safely(() => below(context, started))) ?? context;
    const run = () => (inside === context ? next() : withContext(inside, next));
    let outcome: Outcome<T> | undefined;
    try {
      const value = await (started ? otel.with(started.active, run) : run());
      outcome = { value };
      return value;
    } catch (error) {
      outcome = { error };
      throw error;
    } finally {
      safely(() => ended(started?.span ?? null, outcome!, performance.now() - startedAt));
      safely(() => started?.span.end());
    }
  }

  return {
    attempt(ctx, next) {
      const operation = operationOf('process', ctx.queue, ctx.job);
      const position = () => positionOfAttempt(ctx.context, attempts);
      safely(() => record().began(operation));
      return within(operation, SpanKind.CONSUMER, position, next, (span, outcome, durationMs) => {
        const failure = 'error' in outcome && !(outcome.error instanceof SnoozeError) ? outcome : null;
        record().processed(operation, durationMs, failure && errorType(failure.error));
        if (!span?.isRecording()) return;
        span.setAttribute('messaging.message.id', ctx.id);
        span.setAttribute('messaging.longshore.attempt', ctx.attempt);
        if (failure) fail(span, failure.error, errorMessages);
      });
    },

    enqueue({ queue, job, count }, next) {
      const operation = operationOf('send', queue, job);
      const position = () => positionOfSend(currentContext() ?? {});
      return within(operation, SpanKind.PRODUCER, position, next, (span, outcome, durationMs) => {
        const results = 'value' in outcome ? outcome.value : [];
        const failed = 'error' in outcome ? outcome : results.find((one) => !one.ok);
        const errors =
          'error' in outcome
            ? new Array<string>(count).fill(errorType(outcome.error))
            : results.map((one) => (one.ok ? null : errorType(one.error)));
        record().sent(operation, durationMs, errors);
        if (!span?.isRecording()) return;
        if (count !== 1) span.setAttribute('messaging.batch.message_count', count);
        else if (results[0]?.ok) span.setAttribute('messaging.message.id', results[0].id);
        if (failed) fail(span, failed.error, errorMessages);
      });
    },
  };
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown };

/** Histogram buckets in seconds, from the conventions. */
const explicitBucketBoundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

interface Recorder {
  sent(operation: Operation, durationMs: number, errors: readonly (string | null)[]): void;
  began(operation: Operation): void;
  processed(operation: Operation, durationMs: number, error: string | null): void;
}

function recorderOf(provider: MeterProvider = metrics.getMeterProvider()): Recorder {
  const meter = provider.getMeter('longshore');
  const duration = (name: string, description: string) =>
    meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries } });
  const count = (name: string, description: string) =>
    meter.createCounter(name, { unit: '{message}', description });
  const sending = duration('messaging.client.operation.duration', 'Duration of calls that enqueue jobs.');
  const processing = duration('messaging.process.duration', 'Duration of attempts.');
  const sent = count('messaging.client.sent.messages', 'Jobs that were to be enqueued.');
  const consumed = count('messaging.client.consumed.messages', 'Attempts that began.');
  return {
    sent({ attributes }, durationMs, errors) {
      sending.record(durationMs / 1000, withError(attributes, errors.find((one) => one !== null) ?? null));
      for (const [error, jobs] of Map.groupBy(errors, (one) => one))
        sent.add(jobs.length, withError(attributes, error));
    },
    began({ attributes }) {
      consumed.add(1, attributes);
    },
    processed({ attributes }, durationMs, error) {
      processing.record(durationMs / 1000, withError(attributes, error));
    },
  };
}

const withError = (attributes: Attributes, error: string | null): Attributes =>
  error === null ? attributes : { ...attributes, 'error.type': error };
