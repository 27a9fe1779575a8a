/** The position of spans in a trace, and how they end. */

import {
  type Context,
  type Link,
  context as otel,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { errorText, reportError } from '../../base/failure.ts';
import { readTraceparent, writeTraceparent } from '../../base/traceparent.ts';
import type { JobContext } from '../../envelope/envelope.ts';
import { errorType, type Operation } from './names.ts';

export interface Started {
  readonly span: Span;
  /** The context for code that runs inside the span. */
  readonly active: Context;
}

export interface Position {
  readonly parent: Context;
  readonly links: readonly Link[];
}

/** The trace in a job's context. Jobs do not carry `tracestate`. */
function remoteOf({ traceparent }: JobContext): SpanContext | null {
  const parsed = traceparent === undefined ? null : readTraceparent(traceparent);
  return parsed && { ...parsed, isRemote: true };
}

/** Puts the span in the trace of the jobs. If that is the active trace, the parent is the active span. */
export function positionOfSend(context: JobContext): Position {
  const active = otel.active();
  const remote = remoteOf(context);
  const isOther = remote !== null && trace.getSpanContext(active)?.traceId !== remote.traceId;
  return { parent: isOther ? trace.setSpanContext(active, remote) : active, links: [] };
}

/**
 * `child`: the parent is the span that enqueued the job, with a link to the active span (the invocation of a function). `linked`: the
 * span is in the active trace or starts a new one, with a link to the span that enqueued the job.
 */
export function positionOfAttempt(context: JobContext, attempts: 'child' | 'linked'): Position {
  const active = otel.active();
  const ambient = trace.getSpanContext(active);
  const creator = remoteOf(context);
  if (!creator) return { parent: active, links: [] };
  const creation: Link = { context: creator };
  if (attempts === 'linked') return { parent: ambient ? active : ROOT_CONTEXT, links: [creation] };
  const isOther = ambient !== undefined && ambient.traceId !== creator.traceId;
  const links = isOther ? [creation, { context: ambient }] : [creation];
  return { parent: trace.setSpanContext(active, creator), links };
}

export function start(
  tracer: Tracer,
  { name, attributes }: Operation,
  kind: SpanKind,
  { parent, links }: Position,
): Started {
  const span = tracer.startSpan(name, { kind, attributes, links: [...links] }, parent);
  return { span, active: trace.setSpan(parent, span) };
}

/** The context for jobs that are enqueued in this span. Unchanged if nothing is traced. */
export function below(context: JobContext, { span }: Started): JobContext {
  const own = span.spanContext();
  return trace.isSpanContextValid(own) ? { ...context, traceparent: writeTraceparent(own) } : context;
}

/**
 * Records an error. A message may contain parts of a payload or a secret, so without `messages` the span has only the class of the
 * error and its stack frames.
 */
export function fail(span: Span, error: unknown, messages: boolean): void {
  const type = errorType(error);
  span.setAttribute('error.type', type);
  const report = reportError(error);
  const text = errorText(report);
  span.setStatus({ code: SpanStatusCode.ERROR, ...(messages && { message: text }) });
  const frames = report.stack === undefined ? [] : framesOf(error);
  span.addEvent('exception', {
    'exception.type': type,
    ...(messages && { 'exception.message': report.message }),
    ...(frames.length > 0 && { 'exception.stacktrace': [...(messages ? [text] : []), ...frames].join('\n') }),
  });
}

const mostFrames = 20;
const mostFramesOfCause = 6;
const mostErrors = 6;

/** The stack frames of the error and its causes, without the messages in front of them. */
function framesOf(error: unknown): string[] {
  const frames: string[] = [];
  try {
    for (let at = error, n = 0; at instanceof Error && n < mostErrors; at = at.cause, n++) {
      const { message, stack } = at;
      const begin = stack?.indexOf(message) ?? -1;
      if (begin < 0) continue;
      const lines = stack!.slice(begin + message.length).split('\n');
      const own = lines.filter((line) => /^ +at .+(:\d+:\d+|<anonymous>)\)?$/.test(line));
      frames.push(...own.slice(0, n === 0 ? mostFrames : mostFramesOfCause));
    }
  } catch {
    // A getter of the error threw: keep the frames read so far.
  }
  return frames;
}
