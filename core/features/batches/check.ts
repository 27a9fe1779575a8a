/** Checks a batch before anything is sent. */

import { renamedText } from '../../base/checks.ts';
import { config, LongshoreError, shown } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { assertJson } from '../../base/json.ts';
import { hint } from '../../base/nearest.ts';
import { faultOf } from '../../base/text.ts';
import type { BatchStore } from '../../contract/derived/batches.ts';
import { batchPattern, type EndName, endNames } from '../../envelope/flow-ids.ts';
import type { App } from '../../kernel/app/app.ts';
import type { CommonBatchOptions, JobOfBatch } from '../../kernel/app/batch.ts';
import type { Job } from '../../kernel/app/job.ts';
import { isOn } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { checked, checkJob, wrongOption } from '../../kernel/enqueue/prepare.ts';
import { checkFailures } from './plan.ts';

const mostPerChunk = 10_000;
/** The most slots of a limit, as for jobs and queues. */
const mostSlots = 10_000;

export interface AnyBatchOptions extends CommonBatchOptions<unknown, unknown, unknown> {
  readonly job?: unknown;
  readonly map?: unknown;
  readonly options?: unknown;
  readonly onResults?: JobOfBatch<unknown>;
  readonly resultsPayload?: Readonly<Record<string, unknown>>;
}

const names = {
  job: true,
  map: true,
  options: true,
  id: true,
  chunkSize: true,
  onSuccess: true,
  onFailure: true,
  onComplete: true,
  onResults: true,
  resultsPayload: true,
  keepResults: true,
  allowFailures: true,
  concurrency: true,
  context: true,
} satisfies Record<keyof AnyBatchOptions, true>;

export function storeOf({ backend, stores }: Pick<Client, 'backend' | 'stores'>): BatchStore {
  if (stores.batches) return stores.batches;
  throw config(`Backend "${backend.name}" keeps no batches: give it a store, for example sqliteStore().`);
}

/** Throws `OPTION`, `CONFIG`, `UNKNOWN_JOB` or `PAYLOAD`. */
export async function checkBatch(
  client: Pick<Client, 'app' | 'backend' | 'stores' | 'name'>,
  name: string,
  options: AnyBatchOptions,
): Promise<void> {
  for (const given in options)
    if (!Object.hasOwn(names, given))
      throw new LongshoreError(
        'OPTION',
        renamedText(given, 'batch()', names) ??
          `Expected an option of batch(), got ${shown(given)}.${hint(given, Object.keys(names))}`,
      );
  const { id, chunkSize = 100, allowFailures = 0, job, map } = options;
  const fault = faultOf(name);
  if (fault !== null) throw wrongOption(`the name of a batch ${fault}`);
  if (id !== undefined && !(typeof id === 'string' && batchPattern.test(id)))
    throw wrongOption(`the id of a batch to match ${batchPattern}, got ${shown(id)}`);
  if (id?.startsWith('chain.'))
    throw wrongOption('the id of a batch not to begin with "chain.", which is reserved for chains');
  if (!Number.isInteger(chunkSize) || chunkSize < 1 || chunkSize > mostPerChunk)
    throw wrongOption(`chunkSize to be an integer from 1 to ${mostPerChunk}, got ${shown(chunkSize)}`);
  checkFailures(allowFailures);
  checkConcurrency(client, name, options.concurrency);
  if ((job === undefined) === (map === undefined))
    throw wrongOption(`either job or map of batch "${name}", got ${job === undefined ? 'none' : 'both'}`);
  if (map !== undefined && typeof map !== 'function')
    throw wrongOption(`map of batch "${name}" to be a function, got ${shown(map)}`);
  if (job !== undefined) checkChild(client, job as Job);
  for (const end of endNames)
    if (options[end] !== undefined) await checkCall(client, name, end, options[end] as Job);
  checkResults(client, name, options);
}

function checkConcurrency(
  { backend, stores }: Pick<Client, 'backend' | 'stores'>,
  name: string,
  concurrency: unknown,
): void {
  if (concurrency === undefined) return;
  const most = Math.min(mostSlots, stores.limits?.mostSlots ?? mostSlots);
  if (!Number.isInteger(concurrency) || (concurrency as number) < 1 || (concurrency as number) > most)
    throw wrongOption(
      `concurrency of batch "${name}" to be an integer from 1 to ${most}, got ${shown(concurrency)}`,
    );
  if (!stores.limits)
    throw config(
      `Batch "${name}" has a concurrency, but backend "${backend.name}" keeps no limits: give it a store, for example sqliteStore().`,
    );
}

function checkResults(
  { backend, stores }: Pick<Client, 'backend' | 'stores'>,
  name: string,
  { onResults, keepResults = false, resultsPayload }: AnyBatchOptions,
): void {
  if (typeof keepResults !== 'boolean')
    throw wrongOption(`keepResults of batch "${name}" to be true or false, got ${shown(keepResults)}`);
  if ((onResults || keepResults) && !stores.steps)
    throw config(
      `Backend "${backend.name}" keeps no results of children: give it a store with steps, for example sqliteStore().`,
    );
  if (resultsPayload === undefined) return;
  if (!onResults) throw wrongOption(`onResults with resultsPayload of batch "${name}", got none`);
  if (typeof resultsPayload !== 'object' || resultsPayload === null || Array.isArray(resultsPayload))
    throw wrongOption(`resultsPayload of batch "${name}" to be an object, got ${shown(resultsPayload)}`);
  assertJson(resultsPayload, 'resultsPayload');
}

export function checkChild(
  client: Pick<Client, 'app' | 'name'>,
  job: Job,
  part: 'batch' | 'chain' = 'batch',
): void {
  checkJob(client, job);
  if (!isOn(client, job))
    throw config(
      `Job "${job.name}" belongs to another backend than its ${part}: all jobs of a ${part} share one.`,
    );
  const why = part === 'batch' ? 'a batch could not count it' : 'a chain would end with it';
  if (job.unique)
    throw config(
      `Job "${job.name}" is unique, so enqueueing it may return another job: ${why}. Use a job without unique and debounce.`,
    );
}

async function checkCall(
  client: Pick<Client, 'app' | 'name'>,
  name: string,
  end: EndName,
  job: Job,
): Promise<void> {
  checkDefined(client.app, name, end, job);
  checkChild(client, job);
  if (end === 'onResults') return; // its payload is not known yet
  try {
    await checked(job, { batchId: 'any', name, total: 1, succeeded: 1, failed: 0 });
  } catch (cause) {
    if (!(cause instanceof LongshoreError) || cause.code !== 'PAYLOAD') throw cause;
    throw new LongshoreError(
      'PAYLOAD',
      `Job "${job.name}" cannot be ${end} of a batch, because its schema does not take { batchId, name, total, succeeded, failed }: ${toError(cause).message}`,
      { cause },
    );
  }
}

function checkDefined(app: App, name: string, end: EndName, job: Job): void {
  if (typeof job === 'object' && job !== null && app.jobs.get(job.name) === job) return;
  const got = typeof job === 'object' && job !== null ? `"${job.name}"` : shown(job);
  throw new LongshoreError(
    'UNKNOWN_JOB',
    `Expected ${end} of batch "${name}" to be a job of the app, got ${got}. Add it to createApp({ jobs }).`,
  );
}
