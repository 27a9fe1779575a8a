/** `longshore/aws`: SQS as a queue, and the app as Lambda functions. */

import { refuseRenamed } from '../../core/base/checks.ts';
import { door, onDemand } from '../../core/base/lazy.ts';
import type { Stores } from '../../core/contract/store.ts';
import type { App } from '../../core/kernel/app/app.ts';
import { abilitiesOf, checkAbilities } from '../../core/kernel/enqueue/abilities.ts';
import { checkNamed } from '../../core/kernel/enqueue/backends.ts';
import { connectOne } from '../../core/kernel/enqueue/connect.ts';
import type { OtherBackends } from '../../core/routing/other-backends.ts';
import { logLines } from '../../core/serverless/log-lines.ts';
import type { ScheduleResult } from '../../core/serverless/schedule.ts';
import type { HttpOptions } from '../../core/surfaces/http/index.ts';
import { checkWorkerOptions, type HttpResult, type Worker, type WorkerOptions } from './lambda/events.ts';
import type { SqsBackend } from './sqs/index.ts';

export type { Foreign } from '../../core/contract/foreign.ts';
export type { PayloadStore, Stores } from '../../core/contract/store.ts';
export { foreign } from '../../core/kernel/enqueue/foreign.ts';
export type { ForeignRule } from '../../core/kernel/enqueue/foreign-job.ts';
export type { ScheduleResult } from '../../core/serverless/schedule.ts';
export { createDynamoTable, dynamoStore, dynamoTable } from './dynamo/index.ts';
export type * from './lambda/events.ts';
export { type S3Client, type S3PayloadsOptions, s3Payloads } from './s3/index.ts';
export { createSqsQueues, type SqsQueuesOptions } from './sqs/create.ts';
export { type SqsBackend, type SqsOptions, sqs } from './sqs/index.ts';

export interface LambdaOptions extends WorkerOptions, HttpOptions, OtherBackends {
  readonly backend: SqsBackend;
  /** Keys, records and workers: SQS does not store them. */
  readonly store: Partial<Stores>;
  /** Receives each event as a JSON line; `false` = no log. @default standard output */
  readonly log?: ((line: string) => void) | false;
}

/** The handlers of three Lambda functions. Deploy those that you need. */
export interface LambdaHandlers {
  /** For an SQS event source with `ReportBatchItemFailures`. */
  readonly worker: Worker;
  /** For an EventBridge schedule of one minute. */
  readonly schedule: () => Promise<ScheduleResult>;
  /** For a function URL or an HTTP API; needs `authorize` or `apiKeys`. */
  readonly enqueue: (event: unknown) => Promise<HttpResult>;
}

/** Throws `CONFIG` if the app cannot start: no signing key, no store. */
export function lambda(app: App, options: LambdaOptions): LambdaHandlers {
  const { backend, store, log = (line) => process.stdout.write(line) } = options;
  if (log) app.events.on(logLines(log));
  refuseRenamed('lambda()', options, { backendName: '', otherBackends: '' });
  checkWorkerOptions(options);
  const { backendName = 'default', otherBackends } = options;
  app.keyRing();
  if (otherBackends) {
    checkNamed(app, [backendName, ...Object.keys(otherBackends)]);
    checkAbilities(app, abilitiesOf({ backend, stores: store as Stores }), backendName);
  }
  const alone = otherBackends ? null : connectOne(app, backend, { store });
  const client = onDemand(
    async () =>
      alone ??
      (await import('../../core/routing/other-backends.ts')).connectWithOthers(app, backend, store, {
        backendName,
        otherBackends: otherBackends!,
      }),
  );
  // Each function loads only what it needs: one runs jobs, another serves HTTP.
  const worker = onDemand(async () =>
    (await import('./lambda/worker.ts')).createWorker(await client(), backend, options),
  );
  const schedule = onDemand(async () =>
    (await import('../../core/serverless/schedule.ts')).createScheduleHandler(await client()),
  );
  const enqueue = onDemand(async () =>
    http(async ({ createEnqueueHandler }) => createEnqueueHandler(await client(), options)),
  );
  return {
    worker: async (event, context) => (await worker())(event, context),
    schedule: async () => (await schedule())(),
    enqueue: async (event) => (await enqueue())(event),
  };
}

/**
 * Makes a Lambda function from a fetch handler, such as `dashboard()` of `longshore/dashboard` with `streams: false`. It is for a function URL
 * or an HTTP API.
 */
export const lambdaHttp =
  (handle: (request: Request) => Promise<Response>): ((event: unknown) => Promise<HttpResult>) =>
  async (event) =>
    http(({ answerHttp }) => answerHttp(event, handle));

const http = door(() => import('./lambda/http.ts'));
