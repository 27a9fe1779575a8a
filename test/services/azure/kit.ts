/** A function app on the test server, with the time in the test's hands. */

import { afterEach } from 'vitest';
import * as z from 'zod';
import type { LongshoreEvent } from '../../../core/base/events.ts';
import type { PayloadStore } from '../../../core/contract/store.ts';
import { type Client, connect, createApp, defineJob, fixed, keyRing } from '../../../core/index.ts';
import type { App, AppOptions } from '../../../core/kernel/app/app.ts';
import type { HandlerContext } from '../../../core/kernel/app/job.ts';
import type { Schedule } from '../../../core/kernel/app/schedule.ts';
import {
  type AzureOptions,
  azure,
  type Foreign,
  type ServiceBusBackend,
  serviceBus,
} from '../../../functions/azure/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { type FunctionsHost, startFunctions } from '../../../local/simulate/functions/host.ts';
import {
  createServiceBusTrigger,
  type ServiceBusTrigger,
} from '../../../local/simulate/functions/service-bus-trigger.ts';
import { type ServiceBusServer, startServiceBus } from '../../../local/simulate/service-bus/server.ts';
import { createVirtualClock, type VirtualClock } from '../../testing/virtual-clock.ts';

export const minute = 60_000;

export interface FunctionAppKit {
  readonly clock: VirtualClock;
  readonly server: ServiceBusServer;
  readonly backend: ServiceBusBackend;
  readonly client: Client;
  readonly host: FunctionsHost;
  readonly trigger: ServiceBusTrigger;
  readonly events: LongshoreEvent[];
  readonly store: ReturnType<typeof memoryStore>;
  /** Names of the jobs that have begun. */
  readonly ran: string[];
  readonly job: ReturnType<typeof mailJob>;
  readonly behaviour: Map<string, (ctx: HandlerContext) => unknown>;
  enqueue(name: string, group?: string): Promise<string>;
  settledAs(): string[];
  close(): Promise<void>;
}

function mailJob(ran: string[], behaviour: FunctionAppKit['behaviour']) {
  return defineJob({
    name: 'mail.send',
    queue: 'mail',
    payload: z.object({ name: z.string() }),
    maxRetries: 2,
    retry: fixed(minute),
    async handle({ name }, ctx) {
      ran.push(name);
      return behaviour.get(name)?.(ctx);
    },
  });
}

export interface KitOptions extends Partial<Omit<AzureOptions, 'log'>> {
  readonly schedules?: (job: FunctionAppKit['job']) => Schedule[];
  /** For messages of other programs in the queue. */
  readonly rule?: (app: App, job: FunctionAppKit['job']) => Foreign;
  readonly newId?: () => string;
  readonly use?: AppOptions['use'];
  /** Of the app; those of the function app are `queues`. */
  readonly queueOptions?: AppOptions['queues'];
  readonly functionTimeoutMs?: number;
  readonly log?: AzureOptions['log'] | 'of the call';
  readonly payloads?: PayloadStore;
  readonly maxConcurrentCalls?: number;
  readonly sessionIdleMs?: number;
}

/** Opens function apps for the tests of a file, called at its top. Each is closed after its test. */
export function functionAppsHere(): (options?: KitOptions) => Promise<FunctionAppKit> {
  let kits: FunctionAppKit[] = [];
  afterEach(async () => {
    for (const kit of kits) await kit.close();
    kits = [];
  });
  return async (options) => {
    const kit = await openFunctionApp(options);
    kits.push(kit);
    return kit;
  };
}

export async function openFunctionApp(options: KitOptions = {}): Promise<FunctionAppKit> {
  const {
    schedules,
    rule,
    newId,
    use = [],
    queueOptions = {},
    log = false,
    payloads,
    maxConcurrentCalls = 16,
    sessionIdleMs = minute,
    ...rest
  } = options;
  const clock = createVirtualClock();
  const server = await startServiceBus({ clock });
  const { sessions = [] } = rest;
  for (const queue of ['mail', 'mail-failed']) {
    const requiresSession = sessions.includes(queue);
    server.createQueue(queue, { lockMs: minute, duplicateWindowMs: 10 * minute, requiresSession });
  }
  const ran: string[] = [];
  const events: LongshoreEvent[] = [];
  const behaviour = new Map<string, (ctx: HandlerContext) => unknown>();
  const job = mailJob(ran, behaviour);
  const app = createApp({
    jobs: [job],
    queues: queueOptions,
    use,
    schedules: schedules?.(job) ?? [],
    signing: keyRing([{ kid: 'test', secret: new Uint8Array(32).fill(5) }]),
    clock,
    random: () => 0.5,
    on: (event) => events.push(event),
    ...(newId && { newId }),
  });
  const store = { ...memoryStore({ clock }), ...(payloads && { payloads }) };
  const { connectionString } = server;
  process.env.TEST_SERVICEBUS = connectionString;
  const foreign = rule ? { mail: rule(app, job) } : {};
  const shared = { connection: 'TEST_SERVICEBUS', store, foreign, functionTimeoutMs: 10 * minute };
  const host = await startFunctions(() =>
    azure(app, { ...shared, ...rest, ...(log !== 'of the call' && { log }) }),
  );
  const { functionTimeoutMs = 10 * minute } = rest;
  const called = { host, connectionString, clock, functionTimeoutMs, maxConcurrentCalls, sessionIdleMs };
  const trigger = createServiceBusTrigger(called);
  const queues = ['mail'];
  const of = { connectionString, queues, sessions, foreign, keys: store.keys };
  const backend = serviceBus({ ...of, maxRetries: 0, clock });
  const named = { default: backend, ...rest.otherBackends };
  const client = rest.otherBackends
    ? connect(app, named, { store: { default: store } })
    : connect(app, backend, { store });
  return {
    clock,
    server,
    backend,
    client,
    host,
    trigger,
    events,
    store,
    ran,
    job,
    behaviour,
    enqueue: async (name, group) =>
      (await client.enqueue(job, { name }, { ...(group !== undefined && { group }) })).id,
    settledAs: () =>
      events.flatMap((event) => (event.type === 'job.settled' ? [`${event.outcome} ${event.attempt}`] : [])),
    async close() {
      await trigger.close();
      await host.terminate();
      await backend.close();
      await server.stop();
      delete process.env.TEST_SERVICEBUS;
    },
  };
}
