/** Runs a function app behind Service Bus on this machine, until it is stopped or idle. */

import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { format } from 'node:util';
import { Cron } from 'croner';
import { systemClock } from '../../../core/base/clock.ts';
import { config, LongshoreError } from '../../../core/base/errors.ts';
import { toError } from '../../../core/base/failure.ts';
import { serveHttp } from '../../serve.ts';
import { pause } from '../../waiting.ts';
import { type Activity, type Frame, type QueueCounts, type SimulationEvent, simulated } from '../frame.ts';
import { createAppQueues, type ServiceBusServer, startServiceBus } from '../service-bus/server.ts';
import { type Binding, type FunctionsHost, type Registered, startFunctions, triggerOf } from './host.ts';
import { hostSettings } from './host-json.ts';
import type { FunctionsSimulationOptions } from './options.ts';
import { createServiceBusTrigger, startPump } from './service-bus-trigger.ts';

/** Time that the host gives an instance to end. The app drains, and releases jobs that do not end. */
const graceMs = 5_000;

/** Rejects with the first error: the app does not load, a port is in use, or `play` fails. */
export const simulateFunctions = (options: FunctionsSimulationOptions, signal: AbortSignal) =>
  simulated({ ...options, name: 'functions' }, { requests: 0 }, signal, (frame) => start(options, frame));

async function start(
  options: FunctionsSimulationOptions,
  { folder, stopping, on, later, broken }: Frame,
): Promise<Activity> {
  const { entry, lockMs, maxDeliveries } = options;
  const settings = hostSettings(dirname(entry));
  const server = await startServiceBus({ port: options.busPort });
  later(() => server.stop());
  const { connectionString } = server;
  const around = (await options.start?.({ folder, connectionString })) ?? {};
  later(() => around.stop?.());
  later(setEnvironment({ ...around.env }));
  later(captureConsole((line) => on({ type: 'printed', line })));
  const host = await load(entry, ({ text }) => on({ type: 'printed', line: text }));
  let terminated: Promise<unknown> | null = null;
  const terminate = () => {
    terminated ??= Promise.race([host.terminate(), sleep(graceMs, null, { ref: false })]);
    return terminated;
  };
  later(terminate);
  const bindings = bindingsOf(host.functions, process.env);
  if (bindings.queues.length === 0)
    throw config(
      `${entry} registers no function for a queue, only ${host.functions.length} others. Call azure() in it.`,
    );
  // Overrides settings of the environment, so that no trigger connects to another namespace.
  for (const name of bindings.connections)
    later(setEnvironment({ [name]: connectionString, [`${name}__fullyQualifiedNamespace`]: undefined }));
  const made = { lockMs, maxDeliveryCount: maxDeliveries };
  createAppQueues(server, bindings.queues, made, bindings.sessions);

  const { functionTimeoutMs, maxLockRenewalMs, routePrefix } = settings;
  const maxConcurrentCalls = options.concurrency ?? settings.maxConcurrentCalls;
  const maxConcurrentSessions = options.concurrency ?? settings.maxConcurrentSessions;
  const http = bindings.hasHttp ? await serveFunctions(host, options.httpPort, on) : null;
  if (http) later(() => http.close());
  const trigger = createServiceBusTrigger({
    host,
    connectionString,
    clock: systemClock,
    functionTimeoutMs,
    maxConcurrentSessions,
    sessionIdleMs: settings.sessionIdleMs,
    entityOf: (name) => setting(name, process.env),
  });
  later(() => trigger.close());
  const names = bindings.queues.join(', ');
  on({
    type: 'ready',
    lines: [
      ['servicebus', `${connectionString}`],
      ['servicebus', `queues ${names}, each with a -failed queue`],
      ...(http ? [['http', `${http.url}/${routePrefix}`] as const] : []),
      [
        'functions',
        `${settings.path ?? 'no host.json, so the defaults of the host'}; ${maxConcurrentCalls} concurrent calls per queue`,
      ],
      ...(bindings.others.length > 0
        ? [['functions', `the simulation does not call ${bindings.others.join(', ')}`] as const]
        : []),
      ['functions', 'wait for messages; Ctrl-C ends it'],
    ],
  });

  const shared = { trigger, lockMs, maxLockRenewalMs, maxDeliveries, on, broken };
  const pumps = bindings.queues.map((queue) => {
    const mostCalls = bindings.sessions.includes(queue) ? maxConcurrentSessions : maxConcurrentCalls;
    return startPump({ ...shared, maxConcurrentCalls: mostCalls, queue, stopping });
  });
  const running = (): number => pumps.reduce((sum, pump) => sum + pump.running(), 0);
  let ticking = 0;
  const timers = (options.timers ? bindings.timers : []).map((timer) =>
    runTimer(timer, stopping, async () => {
      ticking++;
      const error = await host.tick(timer.name).then(() => null, toError);
      ticking--;
      if (!stopping.aborted) on({ type: 'ticked', enqueued: null, error });
    }),
  );
  return {
    play: (signal) => around.play?.(signal),
    drainMs: graceMs,
    idle: () => running() === 0 && ticking === 0 && isEmpty(server, bindings),
    running,
    parts: [...pumps.map(({ done }) => done), ...timers],
    terminate,
    queues: () => countQueues(server, bindings),
  };
}

async function load(entry: string, onLog: Parameters<typeof startFunctions>[1]): Promise<FunctionsHost> {
  try {
    // Node caches a module per URL.
    const url = `${pathToFileURL(entry).href}?simulation=${randomUUID()}`;
    return await startFunctions(() => import(url), onLog);
  } catch (cause) {
    if (cause instanceof LongshoreError) throw cause;
    const { message } = toError(cause);
    const remedy = /Dynamic require of/.test(message)
      ? ' Give the ESM bundle its own require, with the banner in docs/azure.md.'
      : '';
    throw new LongshoreError('CONFIG', `${entry} does not load: ${message.replace(/\.?$/, '.')}${remedy}`, {
      cause,
    });
  }
}

async function serveFunctions(host: FunctionsHost, port: number, on: (event: SimulationEvent) => void) {
  const handle = async (request: Request): Promise<Response> => {
    const { method, url, headers } = request;
    const body = await request.arrayBuffer();
    const init = { method, headers, ...(body.byteLength > 0 && { body }) };
    const answer = await host.fetch(url, init).catch(() => new Response(null, { status: 500 }));
    on({ type: 'requested', method, path: new URL(url).pathname, status: answer.status });
    return answer;
  };
  return serveHttp(Object.assign(handle, { developmentToken: null }), { port });
}

function countQueues(server: ServiceBusServer, { queues }: Bindings): Record<string, QueueCounts> {
  const counts = queues.map((name) => {
    const { ready, locked, scheduled } = server.queue(name).counts();
    const dead = [`${name}/$DeadLetterQueue`, `${name}-failed`].flatMap(server.bodies).length;
    return [name, { ready, delayed: scheduled, hidden: locked, dead }] as const;
  });
  return Object.fromEntries(counts);
}

const isEmpty = (server: ServiceBusServer, { queues }: Bindings): boolean =>
  queues.every((name) => Object.values(server.queue(name).counts()).every((count) => count === 0));

type Values = Readonly<Record<string, string | undefined>>;

/** Sets variables of this process, in which the app runs; `undefined` removes one. Returns how to restore them. */
function setEnvironment(values: Values): () => void {
  const before = Object.keys(values).map((name) => [name, process.env[name]] as const);
  assign(Object.entries(values));
  return () => assign(before);
}

function assign(entries: readonly (readonly [name: string, value: string | undefined])[]): void {
  for (const [name, value] of entries) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

const methods = ['log', 'info', 'debug', 'warn', 'error'] as const;

/** Sends the `console` output of a function app to the host's log. Returns a function that ends this. */
function captureConsole(onLine: (line: string) => void): () => void {
  // biome-ignore-start lint/suspicious/noConsole: that is what it is about
  const before = methods.map((name) => [name, console[name]] as const);
  for (const name of methods)
    console[name] = (...parts: unknown[]) => {
      for (const line of format(...parts).split('\n')) onLine(line);
    };
  return () => {
    for (const [name, method] of before) console[name] = method;
  };
  // biome-ignore-end lint/suspicious/noConsole: that is what it was about
}

/** Runs a timer at the start, to show something at once, and then by its six fields in UTC. Throws `CONFIG` for a wrong schedule. */
async function runTimer(
  { name, schedule }: { readonly name: string; readonly schedule: string },
  stopping: AbortSignal,
  tick: () => Promise<void>,
): Promise<void> {
  const moments = momentsOf(name, schedule);
  while (!stopping.aborted) {
    await tick();
    const next = moments.nextRun();
    if (!next) return;
    await pause(Math.max(0, next.getTime() - Date.now()), stopping);
  }
}

function momentsOf(name: string, schedule: string): Cron {
  try {
    return new Cron(schedule, { timezone: 'UTC', mode: '6-part', paused: true });
  } catch (cause) {
    throw config(
      `Expected the schedule of ${name} to be six fields like 0 * * * * *, got "${schedule}": ${toError(cause).message}`,
    );
  }
}

interface Bindings {
  /** Names of queues in the namespace. */
  readonly queues: readonly string[];
  /** The queues whose trigger takes sessions. */
  readonly sessions: readonly string[];
  /** Names of the settings with the namespaces of the triggers. */
  readonly connections: readonly string[];
  readonly timers: readonly { readonly name: string; readonly schedule: string }[];
  readonly hasHttp: boolean;
  /** Names of functions with other triggers, which the simulation does not call. */
  readonly others: readonly string[];
}

type Env = Readonly<Record<string, string | undefined>>;

/** The bindings of an app. Resolves `%NAME%` from the environment. Throws `CONFIG` for a missing setting or cardinality "many". */
function bindingsOf(functions: readonly Registered[], env: Env): Bindings {
  const triggers = functions.map((one): Binding & { readonly name: string } => ({
    ...triggerOf(one)[1],
    name: one.name,
  }));
  const ofType = (wanted: string) => triggers.filter(({ type }) => type === wanted);
  const bus = ofType('serviceBusTrigger').filter(({ queueName }) => queueName !== undefined);
  const many = bus.find(({ cardinality }) => cardinality === 'many');
  if (many)
    throw config(
      `Expected ${many.name} to take one message per call, got cardinality "many". Change it to "one".`,
    );
  const known = ['httpTrigger', 'timerTrigger'];
  return {
    queues: bus.map(({ queueName }) => setting(String(queueName), env)),
    sessions: bus
      .filter(({ isSessionsEnabled }) => isSessionsEnabled === true)
      .map(({ queueName }) => setting(String(queueName), env)),
    connections: [...new Set(bus.map(({ connection }) => String(connection)))],
    timers: ofType('timerTrigger').map(({ name, schedule }) => ({
      name,
      schedule: setting(String(schedule), env),
    })),
    hasHttp: ofType('httpTrigger').length > 0,
    others: triggers.filter((one) => !known.includes(one.type) && !bus.includes(one)).map(({ name }) => name),
  };
}

export function setting(text: string, env: Env): string {
  return text.replace(/%([\w.-]+)%/g, (_, name: string) => {
    const value = env[name];
    if (value) return value;
    throw config(`A trigger uses the setting ${name}, which is not set. Set it in the environment.`);
  });
}
