/** The backend on a test server of its own, with the time in the test's hands. */

import { afterEach, beforeEach } from 'vitest';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import {
  type ServiceBusBackend,
  type ServiceBusOptions,
  serviceBus,
} from '../../../functions/azure/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { type ServiceBusServer, startServiceBus } from '../../../local/simulate/service-bus/server.ts';
import { createVirtualClock, type VirtualClock } from '../../testing/virtual-clock.ts';

export const minute = 60_000;

/** Another server and another clock for every test of a file. */
export function eachWithServiceBus() {
  let opened: ServiceBusBackend[] = [];
  const bus = {
    clock: null as unknown as VirtualClock,
    server: null as unknown as ServiceBusServer,
    open(options: Partial<ServiceBusOptions> = {}): ServiceBusBackend {
      const { clock, server } = bus;
      const { connectionString } = server;
      const { keys } = memoryStore({ clock });
      const shared = { connectionString, queues: ['mail'], keys, maxRetries: 0, longPollMs: 1_000, clock };
      const backend = serviceBus({ ...shared, ...options });
      opened.push(backend);
      return backend;
    },
  };
  beforeEach(async () => {
    bus.clock = createVirtualClock();
    bus.server = await startServiceBus({ clock: bus.clock });
    for (const queue of ['mail', 'mail-failed'])
      bus.server.createQueue(queue, { lockMs: minute, duplicateWindowMs: 60 * minute });
  });
  afterEach(async () => {
    for (const backend of opened) await backend.close();
    opened = [];
    await bus.server.stop();
  });
  return bus;
}

export const message = (id: string, rest: Partial<OutgoingMessage> = {}): OutgoingMessage => ({
  id,
  queue: 'mail',
  job: 'mail.send',
  body: `{"id":"${id}"}`,
  priority: 5,
  notBefore: null,
  group: null,
  tenantId: null,
  ...rest,
});
export const take = (backend: ServiceBusBackend, max = 10, leaseMs = minute) =>
  backend.fetch({ queues: ['mail'], max, leaseMs, waitMs: 0 });
