/** SQS for the CLI and the dashboard, and checks of its queues. */

import { createHash } from 'node:crypto';
import { config } from '../../../core/base/errors.ts';
import type {
  DeadLetter,
  DeadLetters,
  QueueAdmin,
  QueueStats,
  Replacement,
} from '../../../core/contract/admin.ts';
import type { AbandonReason } from '../../../core/contract/outcome.ts';
import { newestOf } from '../../../core/kit/clouds/queue.ts';
import { textOfDeadLetter } from '../../../core/kit/records/copies.ts';
import { inBatches, mostEntries } from './batches.ts';
import { checkQueue, sqsDiagnosis } from './check.ts';
import type { Connection } from './connection.ts';
import { type Delivery, deliveryOf, maxBodyBytes, tagsOf } from './message.ts';
import type { QueueAddress } from './queues.ts';
import { messageOf, send, unsendable } from './send.ts';

export interface Admin extends Required<Omit<QueueAdmin, 'know' | 'probe' | 'statsScanMessages'>> {
  checkQueue(queue: string): Promise<unknown>;
}

export function adminOf(connection: Connection): Admin {
  return {
    checkQueue: (queue) => checkQueue(connection, queue),
    diagnose: async (request) => sqsDiagnosis(connection, request),
    async check(needsOf) {
      const advice: string[] = [];
      for (const { name } of connection.queues.all()) {
        advice.push(...(await checkQueue(connection, name, needsOf(name))));
      }
      return advice;
    },
    stats: (queue) => statsOf(connection, queue),
    deadLetters: deadLettersOf(connection),
    peek: () => refuse('peek: looking at a message leases it, and that counts as an attempt'),
    clear: () =>
      refuse(
        'clear a queue and leave what is running. Cancel its jobs; purging it in the AWS console leaves their records pending',
      ),
    setPaused: (_, isPaused) =>
      refuse(
        isPaused
          ? 'pause. Stop its workers, or disable the event source mapping of its function'
          : 'pause, so there is nothing to resume',
      ),
  };
}

async function refuse(what: string): Promise<never> {
  throw config(`SQS cannot ${what}.`);
}

/** The number of messages of each queue over all lanes, as far as SQS knows. */
async function statsOf(connection: Connection, only?: string): Promise<QueueStats[]> {
  const api = await connection.api();
  const addresses = only === undefined ? connection.queues.all() : [connection.addressOf(only)];
  return Promise.all(
    addresses.map(async ({ name, deadLetterUrl }) => {
      const [dead, ...lanes] = await Promise.all([
        connection.call(`counting the dead letters of queue "${name}" at ${deadLetterUrl}`, () =>
          api.attributes(deadLetterUrl, ['ApproximateNumberOfMessages']),
        ),
        ...connection.queues
          .lanesOf(name)
          .map(({ url }) =>
            connection.call(`counting the messages of queue "${name}" at ${url}`, () =>
              api.attributes(url, [
                'ApproximateNumberOfMessages',
                'ApproximateNumberOfMessagesDelayed',
                'ApproximateNumberOfMessagesNotVisible',
              ]),
            ),
          ),
      ]);
      const sum = (attribute: keyof (typeof lanes)[number]): number =>
        lanes.reduce((total, lane) => total + Number(lane[attribute] ?? 0), 0);
      return {
        queue: name,
        ready: sum('ApproximateNumberOfMessages'),
        // Jobs that wait for a retry are hidden like running ones: SQS counts both as not visible.
        delayed: sum('ApproximateNumberOfMessagesDelayed'),
        leased: sum('ApproximateNumberOfMessagesNotVisible'),
        dead: Number(dead.ApproximateNumberOfMessages ?? 0),
        paused: false,
        oldestReadyMs: null,
      };
    }),
  );
}

/*
 * Dead letters are in a queue of their own, with reason and error as attributes. SQS shows messages only by leasing them, so a listing leases
 * all that it can get and then releases them.
 */

/** How long a listing may take. */
const hiddenSeconds = 60;
/** A longer queue is listed in part. */
const mostScanned = 10_000;

interface Found {
  readonly address: QueueAddress;
  readonly delivery: Delivery;
  readonly deadLetter: DeadLetter;
}

export function deadLettersOf(connection: Connection): DeadLetters {
  /** Leases every dead letter, and releases those that `use` has not removed. */
  async function scan(
    addresses: readonly QueueAddress[],
    use: (found: readonly Found[]) => Promise<readonly Found[]>,
  ) {
    const found: Found[] = [];
    let gone: readonly Found[] = [];
    try {
      for (const address of addresses) {
        const during = `looking through the dead letters of queue "${address.name}"`;
        await connection.call(during, () => collect(connection, address, found));
      }
      gone = await use(found);
    } finally {
      await release(
        connection,
        found.filter((one) => !gone.includes(one)),
      );
    }
  }

  async function remove(found: readonly Found[]): Promise<void> {
    const api = await connection.api();
    for (const [address, group] of Map.groupBy(found, (one) => one.address)) {
      await connection.call(`deleting dead letters of queue "${address.name}"`, () =>
        inBatches(group, {
          entryOf: ({ delivery }) => ({ ReceiptHandle: delivery.receiptHandle }),
          request: (entries) => api.delete(address.deadLetterUrl, entries),
        }),
      );
    }
  }

  /** Removes the chosen letters that `use` has handled. Resolves with the number of different ids. */
  async function take(
    ids: readonly string[],
    use: (chosen: readonly Found[]) => Promise<readonly Found[]>,
  ): Promise<number> {
    const done = new Set<string>();
    await scan(connection.queues.all(), async (found) => {
      const used = await use(found.filter(({ deadLetter }) => ids.includes(deadLetter.id)));
      for (const { deadLetter } of used) done.add(deadLetter.id);
      await remove(used);
      return used;
    });
    return done.size;
  }

  return {
    async list({ queue, max = 100 }) {
      const listed: DeadLetter[] = [];
      const addresses = queue === undefined ? connection.queues.all() : [connection.addressOf(queue)];
      await scan(addresses, async (found) => {
        listed.push(...found.map(({ deadLetter }) => deadLetter));
        return [];
      });
      return newestOf(listed, max);
    },
    async retry(ids, replaced = new Map()) {
      for (const { body } of replaced.values()) {
        const error = unsendable({ body, notBefore: null, group: null }, false, connection.clock.now());
        if (error) throw error;
      }
      return take(ids, async (chosen) => {
        const copies = Map.groupBy(chosen, ({ deadLetter }) => textOfDeadLetter(deadLetter));
        const first = [...copies.values()].map(([one]) => one!);
        const sent = await resend(connection, first, replaced);
        return sent.flatMap(({ deadLetter }) => copies.get(textOfDeadLetter(deadLetter))!);
      });
    },
    discard: (ids) => take(ids, async (chosen) => chosen),
  };
}

async function collect(connection: Connection, address: QueueAddress, found: Found[]): Promise<void> {
  const api = await connection.api();
  const url = address.deadLetterUrl;
  const request = { QueueUrl: url, MaxNumberOfMessages: mostEntries, VisibilityTimeout: hiddenSeconds };
  const look = (WaitTimeSeconds: number) => api.receive({ ...request, WaitTimeSeconds });
  while (found.length < mostScanned) {
    let messages = await look(0);
    if (messages.length === 0) {
      // A short poll asks only some of the servers, so an empty answer counts only if the queue's count agrees.
      const { ApproximateNumberOfMessages } = await api.attributes(url, ['ApproximateNumberOfMessages']);
      if (ApproximateNumberOfMessages === '0') return;
      messages = await look(1);
      if (messages.length === 0) return;
    }
    for (const message of messages) {
      const delivery = unwrapped(deliveryOf(message));
      found.push({ address, delivery, deadLetter: deadLetterOf(address, delivery, connection.clock.now()) });
    }
  }
}

function deadLetterOf(address: QueueAddress, delivery: Delivery, now: number): DeadLetter {
  const { id, job } = tagsOf(delivery);
  const { attributes, receiveCount, body, firstReceivedAt } = delivery;
  const given = attributes['longshore.reason'] as AbandonReason | undefined;
  const why =
    Buffer.byteLength(body) > maxBodyBytes
      ? ({ reason: 'rejected', error: noRoom } as const)
      : // Without a reason SQS itself moved it, after more deliveries than its redrive policy allows.
        ({ reason: 'crash-loop', error: movedBySqs } as const);
  return {
    id,
    queue: address.name,
    job,
    ...(given === undefined ? why : { reason: given, error: attributes['longshore.error'] ?? '' }),
    attempt: Number(attributes['longshore.attempt'] ?? receiveCount),
    diedAt: Number(attributes['longshore.diedAt'] ?? firstReceivedAt ?? now),
    body,
  };
}

const noRoom = 'LIMIT: The message is too large for a job, and leaves no room for a reason.';
const movedBySqs =
  'CRASH_LOOP: AWS moved the message here. It was received more often than maxReceiveCount of its queue allows, or Lambda took it for a recursive loop (see RecursiveLoop in docs/aws.md).';

/** Sends before the letters are deleted: a crash in between leaves a second copy. */
async function resend(
  connection: Connection,
  chosen: readonly Found[],
  replaced: ReadonlyMap<string, Replacement>,
): Promise<Found[]> {
  const api = await connection.api();
  const now = connection.clock.now();
  const sent: Found[] = [];
  for (const [address, group] of Map.groupBy(chosen, (one) => laneOf(connection, one))) {
    const messages = group.map(({ deadLetter: { id, job, body }, delivery }) => {
      // A letter that SQS moved itself, or that an earlier version wrote, still has its group.
      const group = delivery.attributes['longshore.group'] ?? delivery.group;
      const tags = { id, job, group, attempts: 0, notBefore: null };
      const fresh = replaced.get(id)?.body;
      // The digest gives a new text its own id: the queue would drop it as a copy of the earlier text.
      const mark = fresh === undefined ? '' : `-${createHash('sha256').update(fresh).digest('base64url')}`;
      return { ...messageOf(fresh ?? body, tags, now), dedupId: `${delivery.messageId}-retry${mark}` };
    });
    const failures = await connection.call(`sending dead letters back to queue "${address.name}"`, () =>
      send(api, address.url, address.fifo, messages),
    );
    sent.push(...group.filter((_, i) => failures[i] === null));
  }
  return sent;
}

/** The lane that it came from. A message that SQS moved itself does not carry it. */
function laneOf({ queues }: Connection, { address, delivery }: Found): QueueAddress {
  const lane = delivery.attributes['longshore.lane'];
  return queues.lanesOf(address.name).find((one) => one.lane === lane) ?? address;
}

async function release(connection: Connection, found: readonly Found[]): Promise<void> {
  const api = await connection.api();
  for (const [address, group] of Map.groupBy(found, (one) => one.address)) {
    await inBatches(group, {
      entryOf: ({ delivery }) => ({ ReceiptHandle: delivery.receiptHandle, VisibilityTimeout: 0 }),
      request: (entries) => api.hide(address.deadLetterUrl, entries),
    }).catch(() => {}); // they become visible again by themselves
  }
}

interface Request {
  readonly MessageBody?: string;
  readonly MessageAttributes?: Readonly<Record<string, { readonly StringValue?: string }>>;
}

/** The message inside a request of EventBridge, as a dead letter; any other delivery unchanged. */
function unwrapped(delivery: Delivery): Delivery {
  if (delivery.attributes['longshore.id'] !== undefined || !delivery.body.startsWith('{"QueueUrl":')) {
    return delivery;
  }
  try {
    const { MessageBody, MessageAttributes = {} } = JSON.parse(delivery.body) as Request;
    if (typeof MessageBody !== 'string') return delivery;
    const texts = Object.entries(MessageAttributes).map(([name, value]) => [name, value?.StringValue ?? '']);
    const attributes = {
      ...(Object.fromEntries(texts) as Record<string, string>),
      'longshore.reason': 'exhausted',
      'longshore.error':
        'BACKEND: EventBridge Scheduler tried for a day to send this message. Check its role.',
      'longshore.attempt': '0',
    };
    return { ...delivery, body: MessageBody, attributes };
  } catch {
    return delivery; // not a request of Longshore
  }
}
