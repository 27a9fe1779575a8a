/** What all parts of the backend share: the queues, the clock, and the SDK from its first use on. */

import { checkInteger } from '../../../core/base/checks.ts';
import { systemClock } from '../../../core/base/clock.ts';
import { LongshoreError } from '../../../core/base/errors.ts';
import { serviceOf } from '../../../core/kit/service.ts';
import type { Access } from './access.ts';
import { type Administration, openAdministration, type Prepare } from './administration.ts';
import type { ServiceBusApi } from './api.ts';
import { serviceBusError } from './errors.ts';
import type { ConnectionOptions } from './options.ts';
import { resolveQueues } from './queues.ts';
import { openServiceBus } from './sdk.ts';

export type Connection = ReturnType<typeof createConnection>;

/**
 * @param access called on first use, so that a setting may be missing until then
 * @param prepare for tests: changes the client of the namespace's administration
 */
export function createConnection(options: ConnectionOptions, access: () => Access, prepare?: Prepare) {
  const { clock = systemClock, maxRetries = 3, timeoutMs = 10_000 } = options;
  checkInteger('maxRetries of serviceBus()', maxRetries, 0);
  checkInteger('timeoutMs of serviceBus()', timeoutMs, 1_000);
  const queues = resolveQueues(options);
  const { foreign = {} } = options;
  for (const name of Object.keys(foreign)) queues.of(name); // throws for a queue that is not configured
  // The SDK itself would wait half a minute between two tries.
  const retries = { maxRetries, timeoutInMs: timeoutMs, retryDelayInMs: 500, maxRetryDelayInMs: 5_000 };

  async function open(): Promise<ServiceBusApi> {
    const opened = access();
    if ('connectionString' in opened) await refuseBasic();
    return openServiceBus(opened, retries);
  }

  /** `null` for an emulator. */
  async function administration(): Promise<Administration | null> {
    return openAdministration(access(), prepare);
  }

  /** Before the first request. Only for keys: they often have the Manage right, and an identity seldom has it. */
  async function refuseBasic(): Promise<void> {
    try {
      await (await administration())?.tier();
    } catch (error) {
      // Without an answer the first request fails too, and says why.
      if (error instanceof LongshoreError && error.code === 'BACKEND') return;
      throw error;
    }
  }

  return {
    ...serviceOf(open, serviceBusError),
    clock,
    queues,
    foreign,
    administration,
    addressOf: queues.of,
  };
}
