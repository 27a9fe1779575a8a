/** Maps the app's queues to queues of the namespace. */

import { checkQueue } from '../../../core/base/checks.ts';
import { config, shown } from '../../../core/base/errors.ts';

export interface QueueOptions {
  /** Names of the queues, or the namespace's name by the app's name. @default every queue has the same name in both */
  readonly queues?: readonly string[] | Readonly<Record<string, string>>;
  /** The app's queues that require sessions in the namespace: jobs of a group run one at a time, and the queue can be ordered. @default none */
  readonly sessions?: readonly string[];
}

export interface QueueAddress {
  readonly name: string;
  /** Name in the namespace. */
  readonly entity: string;
  /** The dead letters of a function, because a function cannot add a reason to the message that it received. */
  readonly failedEntity: string;
  /** Whether it requires sessions. */
  readonly sessions: boolean;
}

export type Queues = ReturnType<typeof resolveQueues>;

export function resolveQueues({ queues, sessions = [] }: QueueOptions) {
  if (queues !== undefined && (typeof queues !== 'object' || queues === null)) {
    throw config(
      `Expected queues of serviceBus() to be ['mail'] or { mail: 'shop-mail' }, got ${shown(queues)}.`,
    );
  }
  if (!Array.isArray(sessions) || sessions.some((name) => typeof name !== 'string')) {
    throw config(
      `Expected sessions to be names of the app's queues, like ['ledger'], got ${shown(sessions)}.`,
    );
  }
  const listed = queues === undefined ? null : entitiesOf(queues);
  const addresses = new Map<string, QueueAddress>();

  /** Throws `CONFIG` for a name that is not among `queues`. */
  function of(name: string): QueueAddress {
    const known = addresses.get(name);
    if (known) return known;
    const entity = listed === null ? name : Object.hasOwn(listed, name) ? listed[name] : undefined;
    if (entity === undefined) {
      throw config(
        `Expected queue "${name}" to be among those given to serviceBus(), which are ${Object.keys(listed!).join(', ')}. Add it to queues.`,
      );
    }
    checkEntity(name, entity);
    const address = { name, entity, failedEntity: `${entity}-failed`, sessions: sessions.includes(name) };
    addresses.set(name, address);
    return address;
  }
  for (const name of [...Object.keys(listed ?? {}), ...sessions]) of(name);

  return {
    of,
    /** All queues that are configured or were used. */
    all: () => [...addresses.values()],
  };
}

/** The namespace's names by the app's names. */
export const entitiesOf = (queues: NonNullable<QueueOptions['queues']>): Readonly<Record<string, string>> =>
  Array.isArray(queues)
    ? Object.fromEntries(queues.map((name) => [name, name]))
    : (queues as Readonly<Record<string, string>>);

/** Names that Service Bus allows, with room for `-failed`. */
const entityPattern = /^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,250}[A-Za-z0-9])?$/;

/** Throws `CONFIG`. */
export function checkEntity(name: string, entity: unknown): void {
  checkQueue(name);
  if (typeof entity === 'string' && entityPattern.test(entity)) return;
  throw config(
    `Expected the entity of queue "${name}" to be a name that Service Bus allows (letters, digits, . - _ /), got ${shown(entity)}.`,
  );
}
