/** All commands, in the order in which the help lists them. */

import type { Command } from '../definition.ts';
import { alerts } from './alerts.ts';
import { audit } from './audit.ts';
import { batchesCommands } from './batches.ts';
import { chainsCommands } from './chains.ts';
import { check } from './check.ts';
import { dashboard } from './dashboard.ts';
import { deadCommands } from './dead.ts';
import { dev } from './dev.ts';
import { doctor } from './doctor.ts';
import { drainWorkerCommand } from './drain-worker.ts';
import { emit } from './emit.ts';
import { emulateServiceBus } from './emulate-servicebus.ts';
import { enqueue } from './enqueue.ts';
import { health } from './health.ts';
import { jobsCommands } from './jobs.ts';
import { keysCommands } from './keys.ts';
import { limitsCommands } from './limits.ts';
import { maintenanceCommands } from './maintenance.ts';
import { metrics } from './metrics.ts';
import { move } from './move.ts';
import { queueCommands } from './queues.ts';
import { scheduleCommands } from './schedule.ts';
import { simulateFunctions } from './simulate-functions.ts';
import { simulateLambda } from './simulate-lambda.ts';
import { status } from './status.ts';
import { stopCommands } from './stop-jobs.ts';
import { top } from './top.ts';
import { waitingJobCommands } from './waiting-jobs.ts';
import { work } from './work.ts';
import { workers } from './workers.ts';

export const commands: readonly Command[] = [
  dev,
  work,
  dashboard,
  enqueue,
  emit,
  status,
  top,
  metrics,
  ...jobsCommands,
  ...stopCommands,
  ...waitingJobCommands,
  ...deadCommands,
  ...queueCommands,
  ...limitsCommands,
  ...batchesCommands,
  ...chainsCommands,
  move,
  ...maintenanceCommands,
  workers,
  drainWorkerCommand,
  ...scheduleCommands,
  ...keysCommands,
  health,
  doctor,
  check,
  alerts,
  audit,
  simulateLambda,
  simulateFunctions,
  emulateServiceBus,
];
