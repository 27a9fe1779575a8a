/** The metrics of the conventions. */

import { type Attributes, type MeterProvider, metrics } from '@opentelemetry/api';
import type { Operation } from './names.ts';

/** Bounds of the buckets in seconds, from the conventions. */
const explicitBucketBoundaries = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

export interface Recorder {
  sent(operation: Operation, durationMs: number, errors: readonly (string | null)[]): void;
  began(operation: Operation): void;
  processed(operation: Operation, durationMs: number, error: string | null): void;
}

export function recorderOf(provider: MeterProvider = metrics.getMeterProvider()): Recorder {
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
