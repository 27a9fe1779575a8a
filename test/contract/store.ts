/** The laws of what is remembered beside the queue: keys, records of jobs, workers. */

import { type Harness, lawsOf, type Runner } from './harness.ts';
import { ackedKeyLaws, keyLaws } from './store-keys.ts';
import { cancelLaws, recordListLaws } from './store-record-admin.ts';
import { recordLaws } from './store-records.ts';
import { retentionLaws } from './store-retention.ts';
import { workerLaws } from './store-workers.ts';

/** For a backend that offers stores: records are those of jobs that move through it. */
export function describeStore(name: string, harness: Harness, runner: Runner): void {
  const law = lawsOf(harness, runner);
  runner.describe(`${name} keeps the laws of a store`, () => {
    runner.describe('keys', () => keyLaws(law));
    runner.describe('keys completed with an ack', () => ackedKeyLaws(law));
    runner.describe('records', () => recordLaws(law));
    runner.describe('lists of records', () => recordListLaws(law));
    runner.describe('cancelling', () => cancelLaws(law));
    runner.describe('retention', () => retentionLaws(law));
    runner.describe('workers', () => workerLaws(law));
  });
}
