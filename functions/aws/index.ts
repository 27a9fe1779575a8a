/** `longshore/aws`: SQS as a queue, and the app as Lambda functions. */

import type { App } from '../../core/app.ts';
import { connect } from '../../core/client.ts';
import type { HttpOptions } from '../../core/http.ts';
import type { Stores } from '../../core/store.ts';
import { createEnqueueHandler } from './enqueue.ts';
import type { HttpResult, ScheduleResult } from './events.ts';
import { logLines } from './log.ts';
import { createScheduleHandler } from './schedule.ts';
import type { SqsBackend } from './sqs.ts';
import { createWorker, type Worker, type WorkerOptions } from './worker.ts';

export { createDynamoTable, dynamoStore, dynamoTable } from './dynamo/index.ts';
export type * from './events.ts';
export { type SqsBackend, type SqsOptions, sqs } from './sqs.ts';

export interface LambdaOptions extends WorkerOptions, HttpOptions {
  readonly backend: SqsBackend;
  /** Keys, records and workers: SQS keeps none. */
  readonly store: Partial<Stores>;
  /** Where events go as JSON lines; `false` = nowhere. @default standard output */
  readonly log?: ((line: string) => void) | false;
}

/** The handlers of three Lambda functions; deploy those you need. */
export interface LambdaHandlers {
  /** For an SQS event source with `ReportBatchItemFailures`. */
  readonly worker: Worker;
  /** For an EventBridge schedule of one minute. */
  readonly schedule: () => Promise<ScheduleResult>;
  /** For a function URL or an HTTP API; needs `authorize` or `apiKeys`. */
  readonly enqueue: (event: unknown) => Promise<HttpResult>;
}

/** Throws `CONFIG` where the app could not start: no signing key, no store. */
export function lambda(app: App, options: LambdaOptions): LambdaHandlers {
  const { backend, store, log = (line) => process.stdout.write(line) } = options;
  if (log) app.events.on(logLines(log));
  const client = connect(app, backend, { store });
  return {
    worker: createWorker(client, backend, options),
    schedule: createScheduleHandler(client),
    enqueue: createEnqueueHandler(client, options),
  };
}
