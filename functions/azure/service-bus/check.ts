/** Asks Service Bus whether its queues can do what the jobs need: with this key or identity, and with these settings. */

import type { QueueNeeds } from '../../../core/contract/diagnosis.ts';
import type { Tier } from './administration.ts';
import type { Connection } from './connection.ts';
import { adviceOf, type Use } from './settings.ts';

export interface Checked {
  /** `null`: an emulator, or no right to ask. */
  readonly tier: Tier | null;
  /** Entities whose settings nobody could look at: there was no right to ask. */
  readonly unknown: readonly string[];
  /** What may be wrong with the others, a sentence each. */
  readonly advice: readonly string[];
}

/** Throws `CONFIG`. */
export async function checkQueues(
  connection: Connection,
  names: readonly string[],
  needsOf?: (queue: string) => QueueNeeds,
): Promise<Checked> {
  const uses = usesOf(connection, names, needsOf);
  for (const use of uses) await lookFor(connection, use);
  const namespace = await connection.administration();
  const tier = (await namespace?.tier()) ?? null;
  const unknown: string[] = [];
  const advice: string[] = [];
  for (const use of uses) {
    const settings = await namespace?.queue(use.entity);
    if (settings) advice.push(...adviceOf(settings, use));
    else unknown.push(use.entity);
  }
  return { tier, unknown, advice };
}

/** The queues of the namespace that these queues of the app need. */
export function usesOf(
  { addressOf }: Pick<Connection, 'addressOf'>,
  names: readonly string[],
  needsOf?: (queue: string) => QueueNeeds,
): Use[] {
  return names.map(addressOf).flatMap(({ name, entity, failedEntity, sessions }): Use[] => [
    { name, entity, keeps: 'jobs', sessions, needs: needsOf?.(name) ?? null },
    { name, entity: failedEntity, keeps: 'dead letters', sessions: false, needs: null },
  ]);
}

/** Throws unless it is there, and this key or identity may receive from it and send to it. */
export function lookFor({ call }: Pick<Connection, 'call'>, { name, entity }: Use): Promise<void> {
  return call(`looking for "${entity}", which queue "${name}" needs`, async (api) => {
    await api.peek({ name: entity }, '1', 1);
    await api.openSender(entity);
  });
}

/** What `longshore health` shows. On an emulator there is nobody to ask. */
export async function adviceFor(
  connection: Connection,
  needsOf: (queue: string) => QueueNeeds,
): Promise<string[]> {
  const names = connection.queues.all().map(({ name }) => name);
  const { unknown, advice } = await checkQueues(connection, names, needsOf);
  if (unknown.length === 0 || (await connection.administration()) === null) return [...advice];
  const asked = `The settings of ${unknown.join(', ')} were not looked at: that takes the right to manage them (the role Azure Service Bus Data Owner).`;
  return [...advice, asked];
}
