/**
 * fauxqs with the rules of AWS that it leaves out. Trace headers: they come with the message. FIFO: one receive call brings as many messages of a group as it may, the group is
 * locked while any of them is in flight, and they come back in their order. Requests: what AWS refuses is refused.
 */

import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { buildApp } from 'fauxqs';
import { keepTraceHeaders } from '../../../local/simulate/lambda/recursion.ts';
import { allowAllCharacters } from '../../../local/simulate/lambda/server.ts';

export async function startStrictSqs() {
  await allowAllCharacters();
  await makeGroupsStrict();
  const app = buildApp({ logger: false });
  keepTraceHeaders(app);
  app.addHook('preHandler', async ({ headers, body }, reply) => {
    const action = String(headers['x-amz-target'] ?? '').replace('AmazonSQS.', '');
    const problem = problemOf(action, (body ?? {}) as Body);
    if (problem === null) return;
    const error = { __type: 'com.amazonaws.sqs#InvalidParameterValue', message: problem };
    return reply.code(400).header('content-type', 'application/x-amz-json-1.0').send(JSON.stringify(error));
  });
  const url = await app.listen({ port: 0, host: '127.0.0.1' });
  return { url, stop: () => app.close() };
}

interface Entry {
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
  readonly DelaySeconds?: number;
  readonly MessageAttributes?: Readonly<Record<string, { readonly StringValue?: string }>>;
}

interface Body extends Entry {
  readonly Entries?: readonly Entry[];
}

/** One wrong entry fails its whole request: AWS is not that strict with all of them. */
function problemOf(action: string, body: Body): string | null {
  const sent = action === 'SendMessage' ? [body] : action === 'SendMessageBatch' ? (body.Entries ?? []) : [];
  return sent.map(problemOfEntry).find((problem) => problem !== null) ?? null;
}

const id = /^[!-~]{1,128}$/;

function problemOfEntry(entry: Entry): string | null {
  const { MessageGroupId: group = 'none', MessageDeduplicationId: dedup = 'none', DelaySeconds = 0 } = entry;
  const attributes = Object.values(entry.MessageAttributes ?? {});
  if (!id.test(group)) return `Value ${group} for parameter MessageGroupId is invalid.`;
  if (!id.test(dedup)) return `Value ${dedup} for parameter MessageDeduplicationId is invalid.`;
  if (DelaySeconds > 900) return `Value ${DelaySeconds} for parameter DelaySeconds is invalid.`;
  if (attributes.length > 10) return 'Number of message attributes exceeds the allowed maximum [10].';
  if (attributes.some(({ StringValue }) => StringValue === '')) return 'Message attribute is empty.';
  return null;
}

interface Message {
  readonly messageGroupId: string;
  readonly sequenceNumber: string;
}

/** A queue of fauxqs 2.4.1, as far as FIFO goes. */
interface Queue {
  readonly fifoMessages: Map<string, Message[]>;
  readonly inflightMessages: Map<string, { readonly message: Message }>;
  fifoLockedGroups: Map<string, number>;
  processTimers(): void;
  dequeueFifo(max: number, ...rest: unknown[]): unknown[];
}

interface Store {
  createQueue(...args: unknown[]): Queue;
}

let strict = false;

/** For every fauxqs of this process. */
async function makeGroupsStrict(): Promise<void> {
  if (strict) return;
  strict = true;
  const folder = dirname(fileURLToPath(import.meta.resolve('fauxqs')));
  const path = pathToFileURL(join(folder, 'sqs/sqsStore.js')).href;
  const { SqsStore } = (await import(/* @vite-ignore */ path)) as { SqsStore: { prototype: Store } };
  const { createQueue } = SqsStore.prototype;
  SqsStore.prototype.createQueue = function (...args) {
    return withAllOfAGroup(createQueue.apply(this, args));
  };
}

/** fauxqs locks a group with the first message that it gives of it. Here its other messages may come in the same call. */
function withAllOfAGroup(queue: Queue): Queue {
  const takeOne = queue.dequeueFifo;
  const inFlight = (): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const { message } of queue.inflightMessages.values()) {
      counts.set(message.messageGroupId, (counts.get(message.messageGroupId) ?? 0) + 1);
    }
    return counts;
  };
  queue.dequeueFifo = (max, ...rest) => {
    queue.processTimers();
    for (const group of queue.fifoMessages.values()) {
      group.sort((a, b) => (a.sequenceNumber < b.sequenceNumber ? -1 : 1)); // what came back stands before what waited
    }
    const lockedBefore = inFlight();
    const taken: unknown[] = [];
    while (taken.length < Math.min(max, 10)) {
      queue.fifoLockedGroups = new Map(lockedBefore);
      const found = takeOne.call(queue, 1, ...rest);
      if (found.length === 0) break;
      taken.push(...found);
    }
    queue.fifoLockedGroups = inFlight();
    return taken;
  };
  return queue;
}

// A server of its own, whose time is real.
if (import.meta.main) process.stdout.write(`SQS_ENDPOINT=${(await startStrictSqs()).url}\n`);
