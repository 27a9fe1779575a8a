/**
 * Dead letters are in three queues: the dead-letter queue of each queue, the `-failed` queue of a function, and the dead-letter queue of that
 * one, which gets letters that are too old or were received too often. Listing locks nothing. Taking one dead letter also locks all before it;
 * these are released again.
 */

import { createHash } from 'node:crypto';
import type { DeadLetter, DeadLetters, QueueStats } from '../../../core/contract/admin.ts';
import type { AbandonReason } from '../../../core/contract/outcome.ts';
import type { Abandon, JobLease } from '../../../core/contract/queue.ts';
import { checkReplaced, cutText } from '../../../core/kit/body-limit.ts';
import { newestOf } from '../../../core/kit/clouds/queue.ts';
import { textOfDeadLetter } from '../../../core/kit/records/copies.ts';
import type { BusMessage, DeadLetterFacts, Entity, ReceivedMessage, ServiceBusApi } from './api.ts';
import type { Connection } from './connection.ts';
import { isMissingQueue } from './errors.ts';
import { busMessage, deliveryOf, someOf, type Tags, textOf } from './message.ts';
import type { Death } from './metadata.ts';
import type { QueueAddress } from './queues.ts';

/** A longer queue is listed in part. */
const mostScanned = 10_000;
/** The most messages in one request. */
const pageSize = 250;
/** An AMQP session holds at most 2,048 unsettled messages; every link has its own session. */
const mostPerLink = 2_048 - pageSize;

interface Found {
  readonly address: QueueAddress;
  readonly entity: Entity;
  readonly message: ReceivedMessage;
  readonly deadLetter: DeadLetter;
}

const entitiesOf = ({ entity, failedEntity }: QueueAddress): Entity[] => [
  { name: entity, deadLetters: true },
  { name: failedEntity },
  { name: failedEntity, deadLetters: true },
];

const sequenceOf = ({ sequenceNumber }: ReceivedMessage): string => String(sequenceNumber);

/** All messages of a queue, without locking them. A missing queue counts as empty: only functions need `-failed`. */
async function lookThrough(api: ServiceBusApi, entity: Entity): Promise<ReceivedMessage[]> {
  const found: ReceivedMessage[] = [];
  let from = 1n;
  while (found.length < mostScanned) {
    const page = await api.peek(entity, String(from), pageSize).catch((error: unknown) => {
      if (isMissingQueue(error)) return [];
      throw error;
    });
    const last = page.at(-1);
    if (!last) break;
    found.push(...page);
    from = BigInt(sequenceOf(last)) + 1n;
  }
  return found;
}

export function deadLettersOf(
  { clock, queues, addressOf, call }: Connection,
  maxBodyBytes: number,
): DeadLetters {
  async function find(addresses: readonly QueueAddress[]): Promise<Found[]> {
    const found: Found[] = [];
    for (const address of addresses) {
      await call(`looking through the dead letters of queue "${address.name}"`, async (api) => {
        for (const entity of entitiesOf(address)) {
          for (const message of await lookThrough(api, entity)) {
            const deadLetter = deadLetterOf(message, address.name, clock.now());
            found.push({ address, entity, message, deadLetter });
          }
        }
      });
    }
    return found;
  }

  /** Calls `use` with the chosen letters page by page, and then removes them. Resolves with the number of different ids. */
  async function take(
    ids: readonly string[],
    use: (api: ServiceBusApi, page: readonly Found[]) => Promise<void>,
  ): Promise<number> {
    const asked = new Set(ids);
    const chosen = (await find(queues.all())).filter(({ deadLetter }) => asked.has(deadLetter.id));
    const done = new Set<string>();
    // `find` creates one object for each entity.
    for (const [entity, group] of Map.groupBy(chosen, (one) => one.entity)) {
      const wanted = new Map(group.map((one) => [sequenceOf(one.message), one]));
      const { address } = group[0]!;
      await call(`taking dead letters of queue "${address.name}"`, async (api) => {
        const others: ReceivedMessage[] = [];
        let received = 0;
        try {
          // If locks end meanwhile, the same messages are received again.
          while (wanted.size > 0 && others.length <= mostScanned) {
            // The limit of a link counts all messages since the first unsettled one, including settled ones.
            const link = Math.floor(received / mostPerLink);
            const messages = await api.receive(entity, pageSize, 0, link);
            received += messages.length;
            if (messages.length === 0) break; // another process has locked them
            const mine = messages.filter((message) => wanted.has(sequenceOf(message)));
            others.push(...messages.filter((message) => !mine.includes(message)));
            const page = mine.map((message) => wanted.get(sequenceOf(message))!);
            await use(api, page);
            await Promise.all(mine.map((message) => api.complete(entity, message)));
            for (const message of mine) wanted.delete(sequenceOf(message));
            for (const { deadLetter } of page) done.add(deadLetter.id);
          }
        } finally {
          // Messages that cannot be released come back when their locks end.
          await Promise.allSettled(others.map((message) => api.abandon(entity, message)));
        }
      });
    }
    return done.size;
  }

  return {
    async list({ queue, max = 100 }) {
      const found = await find(queue === undefined ? queues.all() : [addressOf(queue)]);
      const letters = found.map(({ deadLetter }) => deadLetter);
      return newestOf(letters, max);
    },
    // Send before the letters are completed: a crash in between leaves a second copy.
    async retry(ids, replaced) {
      checkReplaced(replaced, maxBodyBytes);
      const sent = new Set<string>();
      return take(ids, async (api, page) => {
        const first = page.filter(({ deadLetter }) => isFirst(sent, textOfDeadLetter(deadLetter)));
        const fresh = first.map(({ deadLetter: { id, body }, message, ...from }) => {
          const { tags } = deliveryOf(message);
          const text = replaced?.get(id)?.body;
          // With its old id it would be dropped as a duplicate. With this id only a second retry with the same text is dropped.
          const series = `${id}:retry-${placeOf(from)}${sequenceOf(message)}${text === undefined ? '' : markOf(text)}`;
          const group = tags.group ?? (from.address.sessions ? series : null);
          const again: Tags = { ...tags, group, series, attempts: 0, copies: 0, interrupted: false };
          return busMessage(text ?? body, again, null, clock.now());
        });
        const failures = first.length > 0 ? await api.send(first[0]!.address.entity, fresh) : [];
        for (const failure of failures) if (failure) throw failure;
      });
    },
    discard: (ids) => take(ids, async () => {}),
  };
}

function isFirst(known: Set<string>, text: string): boolean {
  const isNew = !known.has(text);
  known.add(text);
  return isNew;
}

/** Another text is not a copy, so it needs another id. */
const markOf = (text: string): string => `-${createHash('sha256').update(text).digest('base64url')}`;

/** Different queues use the same sequence numbers, so the id names the queue. */
const placeOf = ({ entity: { name, deadLetters }, address }: Pick<Found, 'entity' | 'address'>): string =>
  name === address.entity ? '' : deadLetters ? 'failed-dead-' : 'failed-';

export async function statsOf(
  { clock, queues, addressOf, call }: Connection,
  only?: string,
): Promise<QueueStats[]> {
  const addresses = only === undefined ? queues.all() : [addressOf(only)];
  return Promise.all(
    addresses.map((address) =>
      call(`counting the messages of queue "${address.name}"`, async (api) => {
        const own = await lookThrough(api, { name: address.entity });
        const dead = await Promise.all(entitiesOf(address).map((entity) => lookThrough(api, entity)));
        const active = own.filter(({ state }) => state === 'active');
        const oldest = active[0]?.enqueuedTimeUtc?.getTime();
        return {
          queue: address.name,
          // A listing does not show which messages are locked.
          ready: active.length,
          delayed: own.filter(({ state }) => state === 'scheduled').length,
          leased: 0,
          dead: dead.flat().length,
          paused: false,
          oldestReadyMs: oldest === undefined ? null : Math.max(0, clock.now() - oldest),
        };
      }),
    ),
  );
}

/** Bytes. Service Bus allows 4,096 characters; a large body may leave less room. */
const longestError = 1_500;

export const deathOf = (lease: JobLease, { reason, error }: Abandon, diedAt: number): Death => {
  return { reason, error: cutText(error, longestError), attempt: lease.attempt, diedAt };
};

/** For the dead-letter queues of Service Bus. */
export const factsOf = ({ reason, error, attempt, diedAt }: Death): DeadLetterFacts => ({
  deadLetterReason: reason,
  deadLetterErrorDescription: error,
  'longshore.attempt': String(attempt),
  'longshore.diedAt': String(diedAt),
});

/** For the `-failed` queue, because a function cannot add a reason to the message that it received. */
export function deadMessage(body: string, tags: Tags, death: Death): BusMessage {
  const message = busMessage(body, tags, null, 0);
  const facts = someOf({
    'longshore.reason': death.reason,
    'longshore.error': death.error,
    'longshore.attempt': String(death.attempt),
    'longshore.diedAt': String(death.diedAt),
  });
  return { ...message, applicationProperties: { ...message.applicationProperties, ...facts } };
}

const reasons: readonly string[] = ['permanent', 'exhausted', 'crash-loop', 'rejected', 'expired'];

export function deadLetterOf(message: ReceivedMessage, queue: string, now: number): DeadLetter {
  const { body, deliveryCount, enqueuedAt, tags } = deliveryOf(message);
  const { applicationProperties = {}, deadLetterReason, deadLetterErrorDescription } = message;
  const own = (name: string) => textOf(applicationProperties, `longshore.${name}`);
  // Longshore's own reason comes first: a letter that became too old in the -failed queue died of something else.
  const reason = own('reason') || (deadLetterReason ?? '');
  const isOurs = reasons.includes(reason);
  return {
    id: tags.id,
    queue,
    job: tags.job,
    reason: isOurs ? (reason as AbandonReason) : (movedFor[reason] ?? 'rejected'),
    error: isOurs ? own('error') || (deadLetterErrorDescription ?? '') : movedByServiceBus(message),
    attempt: Number(own('attempt')) || tags.attempts + Math.max(1, deliveryCount - 1),
    diedAt: Number(own('diedAt')) || (enqueuedAt ?? now),
    body,
  };
}

const movedFor: Readonly<Record<string, AbandonReason>> = {
  MaxDeliveryCountExceeded: 'crash-loop',
  TTLExpiredException: 'expired',
};

function movedByServiceBus({ deadLetterReason, deadLetterErrorDescription }: ReceivedMessage): string {
  if (deadLetterReason === 'MaxDeliveryCountExceeded') {
    return 'CRASH_LOOP: Service Bus moved the message here, because it was delivered more often than the queue allows (maxDeliveryCount).';
  }
  if (deadLetterReason === 'TTLExpiredException')
    return 'EXPIRED: Service Bus moved the message here, because it was older than the queue allows.';
  return `BACKEND: ${deadLetterReason ?? 'Somebody else'} moved the message here. ${deadLetterErrorDescription ?? ''}`.trim();
}
