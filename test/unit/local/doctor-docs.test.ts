/** docs/doctor.md against the checks that there are. */

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { dynamoChecks } from '../../../functions/aws/dynamo/migrate.ts';
import { sqsChecks } from '../../../functions/aws/sqs/check.ts';
import { serviceBusChecks } from '../../../functions/azure/service-bus/check.ts';
import { beanstalkdChecks } from '../../../local/backends/beanstalkd/diagnose.ts';
import { postgresChecks } from '../../../local/backends/postgres/diagnose.ts';
import { redisChecks } from '../../../local/backends/redis/diagnose.ts';
import { sqliteChecks } from '../../../local/backends/sqlite/diagnose.ts';
import { answers } from '../../../local/cli/commands/doctor.ts';
import { armChecks } from '../../../local/cli/doctor/azure-template.ts';
import { jobChecks, liveKeyChecks, queueChecks, staticKeyChecks } from '../../../local/cli/doctor/checks.ts';
import { hostChecks, templateChecks } from '../../../local/cli/doctor/deployment.ts';
import { needChecks } from '../../../local/cli/doctor/template-needs.ts';

const page = readFileSync(resolve(import.meta.dirname, '../../../docs/doctor.md'), 'utf8');

const checks = [
  ...[[answers], staticKeyChecks, liveKeyChecks, jobChecks, queueChecks, hostChecks, templateChecks],
  ...needChecks,
  ...armChecks,
  ...[dynamoChecks, redisChecks, postgresChecks, sqliteChecks, beanstalkdChecks, sqsChecks, serviceBusChecks],
].flat();

it('docs/doctor.md lists every check with its severity, in the order of their ids', () => {
  const listed = [...page.matchAll(/^\| `([a-z-]+\.[a-z-]+)` \| (error|warning|note) \|/gm)];
  const there = checks.map(({ id, severity }) => `${id} ${severity}`).toSorted();
  expect(listed.map(([, id, severity]) => `${id} ${severity}`)).toEqual(there);
});
