/** The laws of what is remembered beside the queue: keys, records of jobs, workers, limits, steps, numbers, the audit log. */

import { randomBatchLaws } from './batches-at-random.ts';
import type { Harness, Runner } from './harness.ts';
import { lawsOf } from './law.ts';
import { besideAQueue, type StoreHarness } from './store-alone.ts';
import { auditLaws, auditPurgeLaws } from './store-audit.ts';
import { batchLaws } from './store-batches.ts';
import { endLaws } from './store-ends.ts';
import { factLaws, payloadLaws } from './store-facts.ts';
import { ackedKeyLaws, keyLaws } from './store-keys.ts';
import { limitLaws } from './store-limits.ts';
import { limitListLaws } from './store-limits-lists.ts';
import { limitWaiterLaws } from './store-limits-waiting.ts';
import { metricLaws } from './store-metrics.ts';
import { metricPurgeLaws } from './store-metrics-purge.ts';
import { ownRetentionLaws } from './store-own-retention.ts';
import { pageLaws } from './store-pages.ts';
import { cancelLaws, recordListLaws } from './store-record-admin.ts';
import { recordLaws } from './store-records.ts';
import { retentionLaws } from './store-retention.ts';
import { scheduleLaws } from './store-schedules.ts';
import { stepLaws } from './store-steps.ts';
import { workerLaws } from './store-workers.ts';
import { writingLaws } from './store-writing.ts';
import { writtenCancelLaws } from './store-writing-cancel.ts';
import { writtenFactLaws } from './store-writing-facts.ts';
import { writtenRetentionLaws } from './store-writing-retention.ts';

/** For a backend that offers stores: records are those of jobs that move through it. */
export function describeStore(name: string, harness: Harness, runner: Runner): void {
  const law = lawsOf(harness, runner);
  runner.describe(`${name} keeps the laws of a store`, () => {
    runner.describe('keys', () => keyLaws(law));
    runner.describe('keys completed with an ack', () => ackedKeyLaws(law));
    runner.describe('records', () => recordLaws(law));
    runner.describe('facts of records', () => factLaws(law));
    runner.describe('payloads', () => payloadLaws(law));
    runner.describe('lists of records', () => recordListLaws(law));
    runner.describe('pages of records', () => pageLaws(law));
    runner.describe('cancelling', () => cancelLaws(law));
    runner.describe('retention', () => retentionLaws(law));
    runner.describe('retention of a job', () => ownRetentionLaws(law));
    runner.describe('workers', () => workerLaws(law));
    watchingLaws(harness, runner);
    slotLaws(harness, runner);
    rememberedLaws(harness, runner);
    batchStoreLaws(harness, runner);
    storedScheduleLaws(harness, runner);
    auditLogLaws(harness, runner);
    numberLaws(harness, runner);
  });
}

/** For a store without a queue of its own: records are what the sending side and the attempts have reported. */
export function describeStoreAlone(name: string, stores: StoreHarness, runner: Runner): void {
  const harness = besideAQueue(stores);
  const law = lawsOf(harness, runner);
  runner.describe(`${name} keeps the laws of a store that stands alone`, () => {
    runner.describe('keys', () => keyLaws(law));
    runner.describe('records', () => recordLaws(law));
    runner.describe('facts of records', () => factLaws(law));
    runner.describe('payloads', () => payloadLaws(law));
    runner.describe('lists of records', () => recordListLaws(law));
    runner.describe('pages of records', () => pageLaws(law));
    runner.describe('cancelling', () => cancelLaws(law));
    runner.describe('workers', () => workerLaws(law));
    runner.describe('writing', () => writingLaws(law));
    runner.describe('facts that were written', () => writtenFactLaws(law));
    runner.describe('cancelling what somebody else runs', () => writtenCancelLaws(law));
    runner.describe('retention of what was written', () => writtenRetentionLaws(law));
    watchingLaws(harness, runner);
    slotLaws(harness, runner);
    rememberedLaws(harness, runner);
    batchStoreLaws(harness, runner);
    storedScheduleLaws(harness, runner);
    auditLogLaws(harness, runner);
    numberLaws(harness, runner);
  });
}

function watchingLaws(harness: Harness, runner: Runner): void {
  if (harness.lacks?.includes('ends')) return;
  const law = lawsOf(harness, runner);
  runner.describe('watching for ends', () => endLaws(law, !harness.lacks?.includes('ends elsewhere')));
}

function rememberedLaws(harness: Harness, runner: Runner): void {
  if (harness.lacks?.includes('steps')) return;
  runner.describe('steps', () => stepLaws(lawsOf(harness, runner)));
}

function slotLaws(harness: Harness, runner: Runner): void {
  if (harness.lacks?.includes('limits')) return;
  const law = lawsOf(harness, runner);
  runner.describe('limits', () => limitLaws(law));
  runner.describe('jobs that wait for a limit', () => limitWaiterLaws(law));
  runner.describe('lists of limits', () => limitListLaws(law));
}

function batchStoreLaws(harness: Harness, runner: Runner): void {
  if (harness.lacks?.includes('batches')) return;
  const law = lawsOf(harness, runner);
  runner.describe('batches', () => batchLaws(law));
  runner.describe('batches at random', () => randomBatchLaws(law));
}

function storedScheduleLaws(harness: Harness, runner: Runner): void {
  if (harness.lacks?.includes('schedules')) return;
  const law = lawsOf(harness, runner);
  runner.describe('schedules', () => scheduleLaws(law));
}

function auditLogLaws(harness: Harness, runner: Runner): void {
  if (harness.lacks?.includes('audit log')) return;
  const law = lawsOf(harness, runner);
  runner.describe('audit log', () => auditLaws(law));
  if (!harness.lacks?.includes('purges of numbers'))
    runner.describe('purges of the audit log', () => auditPurgeLaws(law));
}

function numberLaws(harness: Harness, runner: Runner): void {
  const law = lawsOf(harness, runner);
  if (harness.lacks?.includes('numbers')) return;
  runner.describe('numbers', () => metricLaws(law));
  if (harness.lacks?.includes('purges of numbers')) return;
  runner.describe('purges of numbers', () => metricPurgeLaws(law));
}
