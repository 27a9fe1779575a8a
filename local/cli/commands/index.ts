/** All commands, in the order of the help. */

import type { Command } from '../definition.ts';
import { alerts } from './alerts.ts';
import { audit } from './audit.ts';
import { batchesCommands } from './batches.ts';
import { chainsCommands } from './chains.ts';
import { check } from './check.ts';
import { checkTemplateCommands } from './check-template.ts';
import { dashboard } from './dashboard.ts';
import { deadCommands } from './dead.ts';
import { settleCommands } from './dead-settle.ts';
import { doctor } from './doctor.ts';
import { emulateServiceBus } from './emulate-servicebus.ts';
import { emit, enqueue } from './enqueue.ts';
import { health } from './health.ts';
import { init } from './init.ts';
import { jobChangeCommands } from './job-changes.ts';
import { jobsCommands } from './jobs.ts';
import { keysCommands } from './keys.ts';
import { limitsCommands } from './limits.ts';
import { maintenanceCommands } from './maintenance.ts';
import { metrics } from './metrics.ts';
import { move } from './move.ts';
import { packageCommands } from './package.ts';
import { queueCommands } from './queues.ts';
import { scheduleCommands } from './schedule.ts';
import { simulateFunctions } from './simulate-functions.ts';
import { simulateLambda } from './simulate-lambda.ts';
import { statusCommands } from './status.ts';
import { dev, work } from './work.ts';
import { workerCommands } from './workers.ts';

export const commands: readonly Command[] = [
  init,
  dev,
  work,
  dashboard,
  enqueue,
  emit,
  ...statusCommands,
  metrics,
  ...jobsCommands,
  ...jobChangeCommands,
  ...deadCommands,
  ...settleCommands,
  ...queueCommands,
  ...limitsCommands,
  ...batchesCommands,
  ...chainsCommands,
  move,
  ...maintenanceCommands,
  ...workerCommands,
  ...scheduleCommands,
  ...keysCommands,
  health,
  doctor,
  check,
  ...checkTemplateCommands,
  alerts,
  audit,
  ...packageCommands,
  simulateLambda,
  simulateFunctions,
  emulateServiceBus,
];
