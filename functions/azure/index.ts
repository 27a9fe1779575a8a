/** `longshore/azure`: Service Bus as a queue, and the app as Azure Functions. */

import { checkInteger, refuseRenamed } from '../../core/base/checks.ts';
import { config, shown } from '../../core/base/errors.ts';
import { onDemand } from '../../core/base/lazy.ts';
import type { Stores } from '../../core/contract/store.ts';
import type { App } from '../../core/kernel/app/app.ts';
import { type Abilities, checkAbilities } from '../../core/kernel/enqueue/abilities.ts';
import { queuesOn } from '../../core/kernel/enqueue/backends.ts';
import { knownAbilities } from '../../core/kernel/enqueue/known-abilities.ts';
import type { OtherBackends } from '../../core/routing/other-backends.ts';
import type { HttpOptions } from '../../core/surfaces/http/index.ts';
import {
  answerHttp,
  checkHost,
  type FunctionsApp,
  type HostContext,
  type HttpRequestLike,
  type HttpResponseInit,
  loadFunctions,
} from './app/http.ts';
import { createRunning, type Running } from './app/instance.ts';
import { createWorker, type WorkerOptions } from './app/worker.ts';
import type { Credential } from './service-bus/access.ts';
import type { ServiceBusOptions } from './service-bus/index.ts';
import { checkEntity, entitiesOf, type QueueOptions, resolveQueues } from './service-bus/queues.ts';
import { accessFrom, settingIn } from './settings.ts';

export type { Foreign } from '../../core/contract/foreign.ts';
export type { PayloadStore, Stores } from '../../core/contract/store.ts';
export { foreign } from '../../core/kernel/enqueue/foreign.ts';
export type { ForeignRule } from '../../core/kernel/enqueue/foreign-job.ts';
export { type AzureHttpOptions, azureHttp } from './app/http.ts';
export { type LeaseTerms, leaseOf, type TriggerMetadata } from './app/trigger.ts';
export { type BlobPayloadsOptions, blobPayloads } from './blob/index.ts';
export { type ServiceBusBackend, type ServiceBusOptions, serviceBus } from './service-bus/index.ts';
export { type TableStoreOptions, tableStore } from './table/index.ts';

/** An HTTP function is registered only with `apiKeys` or `authorize`. */
export interface AzureOptions
  extends WorkerOptions,
    QueueOptions,
    Pick<ServiceBusOptions, 'foreign'>,
    OtherBackends,
    Omit<HttpOptions, 'basePath' | 'development'> {
  /** Name of the app setting that holds the connection string, or the beginning of the setting `…__fullyQualifiedNamespace`. */
  readonly connection: string;
  /** Keys, records and workers: Service Bus does not store them. A function is called on first use. */
  readonly store: Partial<Stores> | (() => Partial<Stores>);
  /** For a namespace without a connection string. @default the app's managed identity */
  readonly credential?: Credential;
  /** When schedules, alerts and batches are checked: a cron text of six fields, UTC. @default '0 * * * * *', every minute */
  readonly tick?: string;
  /** The `routePrefix` of host.json. @default 'api' */
  readonly routePrefix?: string;
  /**
   * How long running jobs may continue when the host stops this instance, at most 3_000. The host ends the process 5 seconds after its request,
   * and the remaining jobs must be released by then. @default 2_000
   */
  readonly drainMs?: number;
  /** Receives each event as a JSON line; `false` = no log. @default the log of the call to which the event belongs */
  readonly log?: ((line: string) => void) | false;
  /** `app` of `@azure/functions`, where a bundler must see the import. @default loaded from the installed package */
  readonly functions?: FunctionsApp;
}

/**
 * Registers the app's functions: one per queue, one for schedules, alerts and batches, one that purges, and one for HTTP. Opens no connection
 * before the first call: a file that throws while it is loaded leaves the host without functions.
 */
export function azure(app: App, options: AzureOptions): void {
  const { connection, credential, store, log, drainMs = 2_000, tick = '0 * * * * *' } = options;
  const { routePrefix = 'api', functions = loadFunctions(), foreign, sessions } = options;
  const { backendName = 'default', otherBackends } = options;
  refuseRenamed('azure()', options, { backendName: '', otherBackends: '' });
  if (typeof connection !== 'string' || !/^[A-Za-z][\w.-]*$/.test(connection)) {
    throw config(
      `Expected connection to be the name of a setting, like SERVICEBUS_CONNECTION, got ${typeof connection === 'string' ? 'another text' : shown(connection)}.`,
    );
  }
  checkInteger('drainMs', drainMs, 0);
  if (drainMs > 3_000) {
    throw config(
      `Expected drainMs of azure() to be at most 3000, got ${drainMs}: the host ends the process 5 seconds after it has asked.`,
    );
  }
  const queues = entitiesOf(options.queues ?? (otherBackends ? queuesOn(app, backendName) : app.queues));
  for (const [name, entity] of Object.entries(queues)) {
    // Names like %NAME% are checked later, when settings are read.
    if (typeof entity !== 'string' || settingIn(entity) === null) checkEntity(name, entity);
  }
  resolveQueues({ queues: Object.keys(queues), ...(sessions && { sessions }) }); // throws for an unknown name
  // Features that depend on the store are checked when it is opened.
  const known = { ...knownAbilities.servicebus, mostSlots: Number.POSITIVE_INFINITY };
  const keepsOrder: Abilities['keepsOrder'] = (queue, order) =>
    known.keepsOrder(queue, order) && sessions?.includes(queue) === true;
  checkAbilities(app, { name: 'servicebus', ...known, keepsOrder }, otherBackends ? backendName : undefined);
  const running = createRunning(app, {
    queues,
    sessions,
    foreign,
    store,
    log,
    drainMs,
    backendName,
    ...(otherBackends && { otherBackends }),
    access: () => accessFrom(connection, credential),
  });

  for (const [name, { queue, entity }] of namesOf(queues)) {
    functions.serviceBusQueue(name, {
      connection,
      queueName: entity,
      cardinality: 'one',
      ...(sessions?.includes(queue) && { isSessionsEnabled: true }),
      autoCompleteMessages: true,
      handler: createWorker(running, queue, app.clock, options),
    });
  }
  // Registered even without schedules: batches and schedules created at run time are in a store that is opened later.
  functions.timer('longshore-schedule', {
    schedule: tick,
    handler: (_, context) =>
      running.within(context, async () => {
        await (await schedule()).createScheduleHandler(running.start().client)();
      }),
  });
  functions.timer('longshore-purge', {
    schedule: purgeTimes,
    handler: (_, context) =>
      running.within(context, async () => {
        await (await schedule()).purgeOnTimer(running.start().client);
      }),
  });
  if (options.apiKeys !== undefined || options.authorize !== undefined) {
    functions.http('longshore-enqueue', {
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'],
      authLevel: 'anonymous', // apiKeys or authorize decide
      route: '{*path}',
      handler: createEnqueueHandler(running, {
        ...options,
        basePath: routePrefix === '' ? '' : `/${routePrefix}`,
      }),
    });
  }
  checkHost(functions.hook.appTerminate(() => running.drain()));
}

/** Loaded at the first call of a timer. */
const schedule = () => import('../../core/serverless/schedule.ts');

/** Once an hour, but not on the hour, when other programs purge. */
const purgeTimes = '0 41 * * * *';

/** A function's name may contain only letters, digits, - and _. */
function namesOf(queues: Readonly<Record<string, string>>) {
  const names = new Map<string, { readonly queue: string; readonly entity: string }>();
  for (const [queue, entity] of Object.entries(queues)) {
    const own = `longshore-worker-${queue.replaceAll('.', '_')}`;
    if (names.has(own))
      throw config(`Two queues would have the function ${own}: "${queue}" is one. Rename one of them.`);
    names.set(own, { queue, entity });
  }
  return names;
}

function createEnqueueHandler(
  running: Running,
  options: HttpOptions,
): (request: HttpRequestLike, context: HostContext) => Promise<HttpResponseInit> {
  const handler = onDemand(async () => {
    const { client } = running.start();
    const { createHttpHandler } = await import('../../core/surfaces/http/index.ts');
    return createHttpHandler(client, { streamTimeoutMs: 0, ...options });
  });
  return (request, context) => running.within(context, () => answerHttp(request, handler));
}
