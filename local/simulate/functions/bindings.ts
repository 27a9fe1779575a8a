/** What an app has registered, as the host reads it: `%NAME%` stands for a setting. */

import { config } from '../../../core/base/errors.ts';
import type { Binding, Registered } from './core-module.ts';
import { triggerOf } from './host.ts';

export interface Bindings {
  /** Names of queues in the namespace. */
  readonly queues: readonly string[];
  /** Those of them whose trigger takes sessions. */
  readonly sessions: readonly string[];
  /** Names of the settings in which triggers look for their namespace. */
  readonly connections: readonly string[];
  readonly timers: readonly { readonly name: string; readonly schedule: string }[];
  readonly hasHttp: boolean;
  /** Names of functions with other triggers, which the simulation does not call. */
  readonly others: readonly string[];
}

type Env = Readonly<Record<string, string | undefined>>;

/** Throws `CONFIG` for a setting that is missing, and for a trigger that takes many messages at a time. */
export function bindingsOf(functions: readonly Registered[], env: Env): Bindings {
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
    throw config(
      `Expected the setting ${name} in the environment, which a trigger names, got nothing. Set it.`,
    );
  });
}
