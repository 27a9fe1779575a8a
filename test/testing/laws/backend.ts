/** The laws of a queue: a backend that keeps them all can carry Longshore's jobs. */

import { administrationLaws } from './backend-administration.ts';
import { breakerLaws } from './backend-breakers.ts';
import { chainLaws } from './backend-chains.ts';
import { deadLetterEditLaws } from './backend-dead-letter-edits.ts';
import { deadLetterPageLaws } from './backend-dead-letter-pages.ts';
import { deadLetterLaws } from './backend-dead-letters.ts';
import { deliveryLaws } from './backend-delivery.ts';
import { endingLaws } from './backend-ending.ts';
import { groupLaws } from './backend-groups.ts';
import { limitLaws } from './backend-limits.ts';
import { duplicateLaws, orderLaws } from './backend-order.ts';
import { pauseLaws } from './backend-pauses.ts';
import { removingLaws } from './backend-removing.ts';
import { settlingLaws } from './backend-settling.ts';
import { snoozingLaws } from './backend-snoozing.ts';
import { staleLeaseLaws } from './backend-stale.ts';
import { timeLaws } from './backend-time.ts';
import { transferLaws } from './backend-transfer.ts';
import { waitingLaws } from './backend-waiting.ts';
import { waitingJobLaws } from './backend-waiting-jobs.ts';
import { wakingLaws } from './backend-waking.ts';
import { clientWakingLaws } from './backend-waking-clients.ts';
import type { Harness, Lack, Runner } from './harness.ts';
import { type Law, lawsOf } from './law.ts';

const topics: readonly (readonly [topic: string, define: (law: Law) => void])[] = [
  ['delivery', deliveryLaws],
  ['settling', settlingLaws],
  ['snoozing', snoozingLaws],
  ['limits', limitLaws],
  ['limits', breakerLaws],
  ['limits', pauseLaws],
  ['stale leases', staleLeaseLaws],
  ['chains', chainLaws],
  ['waiting', waitingLaws],
  [
    'waking',
    (law) => {
      wakingLaws(law);
      clientWakingLaws(law);
    },
  ],
  ['time', timeLaws],
  ['ending', endingLaws],
  ['order', orderLaws],
  ['duplicates', duplicateLaws],
  ['groups', groupLaws],
  ['dead letters', deadLetterLaws],
  ['dead letters', deadLetterPageLaws],
  ['dead letters', deadLetterEditLaws],
  ['administration', administrationLaws],
  ['removing', removingLaws],
  ['transfer', transferLaws],
  ['waiting jobs', waitingJobLaws],
];

export function describeBackend(name: string, harness: Harness, runner: Runner): void {
  const law = lawsOf(harness, runner);
  runner.describe(`${name} keeps the laws of a queue`, () => {
    for (const [topic, define] of topics) {
      if (!harness.lacks?.includes(topic as Lack)) runner.describe(topic, () => define(law));
    }
  });
}
