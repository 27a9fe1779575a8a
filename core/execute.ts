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
    const ctx = new AttemptContext(app, client, execution);
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

/** A class, because most handlers use few of these: functions are made when asked for, not per job. */
class AttemptContext implements HandlerContext {
  readonly id: string;
  readonly job: string;
  readonly queue: string;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly previouslyCrashed: boolean;
  readonly idempotencyKey: string | null;
  readonly context: JobContext;
  readonly deadlineAt: number;
  readonly #app: App;
  readonly #client: Client;
  readonly #run: Run;

  constructor(app: App, client: Client, { run, envelope, job, attempt, startedAt }: Execution) {
    this.#app = app;
    this.#client = client;
    this.#run = run;
    this.id = envelope.identifier;
    this.job = job.name;
    this.queue = run.lease.queue;
    this.attempt = attempt;
    this.maxAttempts = envelope.maxRetries + 1;
    this.previouslyCrashed = run.lease.interrupted;
    this.idempotencyKey = envelope.idempotencyKey ?? null;
    this.context = envelope.context ?? noContext;
    this.deadlineAt = startedAt + job.timeoutMs;
  }

  get signal(): AbortSignal {
    return this.#run.signal;
  }

  // Getters that return a function survive destructuring: `handle(payload, { log, enqueue })`.
  get progress(): HandlerContext['progress'] {
    return (done, total, message) =>
      this.#client.stores.records.progress(this.id, this.#run.lease.token, {
        done,
        total: total ?? null,
        message: message ?? null,
        at: this.#app.clock.now(),
      });
  }

  get log(): HandlerContext['log'] {
    return (message, fields = {}) => {
      if (!this.#app.events.active) return;
      const { id, job, queue, attempt, context } = this;
      const tenantId = context.tenantId ?? null;
      this.#app.events.emit({ type: 'job.log', id, job, queue, attempt, tenantId, message, fields });
    };
  }

  get enqueue(): HandlerContext['enqueue'] {
    return (other, payload, options = {}) =>
      this.#client.enqueue(other, payload, { context: this.context, ...options });
  }
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
