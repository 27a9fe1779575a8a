/** Runs the handler once, under its timeout and context. */

import type { App } from './app.ts';
import type { Client } from './client.ts';
import { withContext } from './context.ts';
import type { Envelope, JobContext } from './envelope.ts';
import { toError } from './failure.ts';
import type { HandlerContext, Job } from './job.ts';
import { abortReason, type Run } from './run.ts';

export interface Execution {
  readonly run: Run;
  readonly envelope: Envelope;
  readonly job: Job;
  readonly attempt: number;
  readonly payload: unknown;
  readonly startedAt: number;
}

export type End =
  | { readonly kind: 'returned'; readonly output: string | null }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Never rejects. Resolves when the handler ends or the run is ended from outside, whichever is first. */
export function execute(app: App, client: Client, execution: Execution): Promise<End> {
  const { run, job, payload, envelope } = execution;
  return new Promise<End>((resolve) => {
    const cancelTimer = app.clock.after(job.timeoutMs, () => run.end('timeout'));
    const finish = (end: End) => {
      cancelTimer();
      run.onEnd = null;
      resolve(end);
    };
    run.onEnd = (cause) => finish({ kind: 'failed', error: abortReason(cause) });
    if (run.cause) return run.onEnd(run.cause);
    const ctx = contextFor(app, client, execution);
    const failed = (error: unknown) => finish({ kind: 'failed', error });
    try {
      const returned = withContext(envelope.context ?? noContext, () => job.run(payload, ctx));
      Promise.resolve(returned).then(
        (value) => finish({ kind: 'returned', output: outputText(app, ctx, value) }),
        failed,
      );
    } catch (error) {
      failed(error);
    }
  });
}

const noContext: JobContext = Object.freeze({});

function contextFor(app: App, client: Client, execution: Execution): HandlerContext {
  const { run, envelope, job, attempt, startedAt } = execution;
  const id = envelope.identifier;
  const context = envelope.context ?? noContext;
  return {
    id,
    job: job.name,
    queue: run.lease.queue,
    attempt,
    maxAttempts: envelope.maxRetries + 1,
    previouslyCrashed: run.lease.interrupted,
    idempotencyKey: envelope.idempotencyKey ?? null,
    context,
    deadlineAt: startedAt + job.timeoutMs,
    get signal() {
      return run.signal;
    },
    progress: (done, total, message) =>
      client.stores.records.progress(id, run.lease.token, {
        done,
        total: total ?? null,
        message: message ?? null,
        at: app.clock.now(),
      }),
    log(message, fields = {}) {
      if (!app.events.active) return;
      app.events.emit({
        type: 'job.log',
        id,
        job: job.name,
        queue: run.lease.queue,
        attempt,
        tenantId: context.tenantId ?? null,
        message,
        fields,
      });
    },
    enqueue: (other, payload, options = {}) => client.enqueue(other, payload, { context, ...options }),
  };
}

/** Larger outputs are dropped with a warning: a record is a place for a summary, not for a file. */
const maxOutputChars = 65_536;

/** The effect has happened, so an output that cannot be kept must not turn success into failure. */
function outputText(app: App, ctx: HandlerContext, value: unknown): string | null {
  if (value === undefined) return null;
  let problem: string;
  try {
    const text = JSON.stringify(value);
    if (text === undefined || text.length <= maxOutputChars) return text ?? null;
    problem = `it has ${text.length} characters, at most ${maxOutputChars} are kept`;
  } catch (error) {
    problem = toError(error).message;
  }
  const { id, job, queue, attempt, context } = ctx;
  const tenantId = context.tenantId ?? null;
  const message = `The job succeeded, but its output is not kept: ${problem}.`;
  app.events.emit({ type: 'job.warning', id, job, queue, attempt, tenantId, message });
  return null;
}
