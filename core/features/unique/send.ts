/**
 * Sends the messages that are not duplicates. A key is taken before its job is sent, and freed if sending fails. If a sender was suspended and
 * another one took its key, it checks again before it sends, and removes its job if that was already sent.
 */

import { LongshoreError } from '../../base/errors.ts';
import { backendError, reportingFailures, toError } from '../../base/failure.ts';
import { faultOf } from '../../base/text.ts';
import type { OutgoingMessage, SendResult, SqlTransaction } from '../../contract/queue.ts';
import { currentContext } from '../../kernel/app/context.ts';
import type { KeyOf } from '../../kernel/app/flow-control.ts';
import type { Job } from '../../kernel/app/job.ts';
import type { EnqueueOptions } from '../../kernel/app/options.ts';
import { type UniqueRule, uniqueRuleOf } from '../../kernel/app/unique.ts';
import type { Draft, Make, MaybeUnique, UniqueMessage } from '../../kernel/enqueue/draft.ts';
import type { Upload } from '../../kernel/enqueue/offload.ts';
import { forEach } from '../../kit/parallel.ts';
import { decide, graceMs, mostIds, type Unsent } from './decide.ts';
import { rewrite, type Sender } from './stored-key.ts';

type Send = (
  client: Sender,
  messages: readonly OutgoingMessage[],
  uploads: readonly Upload[],
) => Promise<SendResult[]>;

/** One result per message, in order: the id of its active job, new or earlier. @param send sends the remaining messages */
export async function sendUnique(
  client: Sender,
  messages: readonly MaybeUnique[],
  uploads: readonly Upload[] | null,
  tx: SqlTransaction | undefined,
  send: Send,
): Promise<SendResult[]> {
  if (tx !== undefined)
    throw new LongshoreError(
      'OPTION',
      'A unique or debounced job cannot be enqueued with tx: its key is not part of your transaction, so a rollback would leave a key without a job. Enqueue it after the commit, or from a job that you enqueue in the transaction.',
    );
  const toSend = new Map<string, Entry>();
  for (const { unique, ...message } of messages) {
    const own = uploads?.filter(({ id }) => id === message.id) ?? [];
    const severalMayWait = unique?.rule.during === 'running';
    toSend.set(message.id, { message, uploads: own, key: unique?.key ?? null, severalMayWait });
  }
  const answers = await decideAll(client, messages, toSend);
  const entries = [...toSend.values()];
  const { results, lost } = await sendAll(client, entries, send);
  const resultOf = new Map(entries.map(({ message }, i) => [message.id, results[i]!]));
  return messages.map((message, i): SendResult => {
    const decided = answers[i] ?? message.id;
    if (decided instanceof LongshoreError) return { ok: false, id: '', error: decided };
    const answer = lost.get(decided) ?? decided;
    const result = resultOf.get(answer) ?? { ok: true, id: answer, duplicate: true };
    return result.ok && answer !== message.id ? { ...result, duplicate: true } : result;
  });
}

interface Entry {
  message: OutgoingMessage;
  uploads: readonly Upload[];
  /** `null` = it is a plain job. */
  readonly key: string | null;
  readonly severalMayWait: boolean;
}

/** For each unique message the id of the active job, or the error. Duplicates are taken out of `toSend`. */
async function decideAll(
  client: Sender,
  messages: readonly MaybeUnique[],
  toSend: Map<string, Entry>,
): Promise<(string | LongshoreError | undefined)[]> {
  const answers: (string | LongshoreError | undefined)[] = [];
  const taken = new Set<string>();
  const unsent: Unsent = {
    has: (id) => taken.has(id),
    replace: (message, uploads) => Object.assign(toSend.get(message.id)!, { message, uploads }),
  };
  // Messages with the same key are handled in order: then the rule decides whether the first or the last one counts.
  const byKey = Map.groupBy(messages.keys(), (i) => messages[i]!.unique?.key);
  byKey.delete(undefined);
  const { clock } = client.app;
  for (let asks = (_: number) => true; ; asks = (i) => answers[i] === messages[i]!.id) {
    const since = clock.now();
    await forEach(byKey.values(), async (indexes) => {
      for (const i of indexes) {
        if (!asks(i)) continue;
        const message = messages[i] as UniqueMessage;
        const answer = await decide(client, unsent, message).catch((error) =>
          backendError('looking for a job with the same unique key', error),
        );
        for (const other of indexes) if (answers[other] === message.id) answers[other] = answer;
        answers[i] = answer;
        if (answer === message.id) taken.add(answer);
        else if (toSend.delete(message.id)) taken.delete(message.id);
      }
    });
    // Others may take the key after `graceMs`. Half of that is reserved for sending.
    if (clock.now() - since < graceMs / 2) return answers;
  }
}

interface Sent {
  readonly results: SendResult[];
  /** Jobs that were removed because another call took their key while they were sent: from their id to the other job's id. */
  readonly lost: ReadonlyMap<string, string>;
}

/** Sends the jobs. Then frees the keys of those that were not sent, and marks the others as sent. */
async function sendAll(client: Sender, entries: readonly Entry[], send: Send): Promise<Sent> {
  const lost = new Map<string, string>();
  const messages = entries.map(({ message }) => message);
  const uploads = entries.flatMap((entry) => entry.uploads);
  const settleAll = (isSent: (i: number) => boolean) =>
    forEach(entries.entries(), async ([i, { key, message }]) => {
      if (key === null) return;
      const work = async () => {
        const other = await settle(client, key, entries[i]!, isSent(i));
        if (other !== null && (await takeBack(client, message))) lost.set(message.id, other);
      };
      await reportingFailures(client.app.events, 'marking a unique key', [message.id], work, 'key');
    });
  try {
    const results = await send(client, messages, uploads);
    await settleAll((i) => results[i]?.ok === true);
    return { results, lost };
  } catch (error) {
    await settleAll(() => false);
    throw error;
  }
}

/** Settles a key. A key that another call has taken meanwhile is left alone. Resolves with the job that replaces a sent one; `null` = none. */
function settle(
  client: Sender,
  key: string,
  { message: { id }, severalMayWait }: Entry,
  isSent: boolean,
): Promise<string | null> {
  return rewrite<string | null>(client, key, async (old) => {
    if (!old?.ids.includes(id)) {
      if (!old || !isSent) return { answer: null, standing: old };
      if (!severalMayWait) return { answer: old.ids[0]!, standing: old };
      return { answer: null, standing: { ...old, ids: [...old.ids, id].slice(0, mostIds) } };
    }
    const ids = isSent ? old.ids : old.ids.filter((other) => other !== id);
    const sent = old.sent || (isSent && ids[0] === id);
    return { answer: null, standing: ids.length > 0 ? { ...old, ids, sent } : null };
  });
}

/** `false` = the job has begun. */
async function takeBack({ backend, stores }: Sender, { id, queue }: OutgoingMessage): Promise<boolean> {
  const { records } = stores;
  if (!backend.pending) return (await records.cancel(id)) === 'cancelled';
  if (!(await backend.pending.remove({ queue, id }))) return false;
  if (records.writer) await records.cancel(id); // a separate store learns nothing from the queue
  return true;
}

/** Throws `OPTION` for an invalid option, `PAYLOAD` if the job cannot compute its key from the payload. */
export async function askUnique(
  { job, options, uploads }: Draft,
  value: unknown,
  make: Make,
): Promise<MaybeUnique> {
  const ofCall = ruleOfCall(options);
  const rule: UniqueRule<unknown> = ofCall ?? job.unique!;
  const key = ofCall ? ofCall.key : keyOfJob(job, value, options);
  if (key === null) return make({}, uploads);
  const fault = faultOf(key);
  if (fault !== null)
    throw new LongshoreError(
      ofCall ? 'OPTION' : 'PAYLOAD',
      `Expected a unique key for job "${job.name}" ${fault}.`,
    );
  const { waitMs } = rule;
  if (waitMs !== undefined && (options.delayMs ?? options.runAt) !== undefined)
    throw new LongshoreError(
      'OPTION',
      `Expected neither delayMs nor runAt for job "${job.name}": its debounce says when it runs.`,
    );
  const message = await make(waitMs === undefined ? {} : { delayMs: waitMs }, uploads);
  return { ...message, unique: { key: storeKey(message, key as string), rule, make } };
}

function ruleOfCall(options: EnqueueOptions): UniqueRule<string> | null {
  try {
    return uniqueRuleOf('enqueue()', 'string', options);
  } catch (error) {
    throw new LongshoreError('OPTION', toError(error).message);
  }
}

function keyOfJob({ name, unique }: Job, value: unknown, options: EnqueueOptions): unknown {
  const keyOf = unique!.key as KeyOf<unknown>;
  try {
    return keyOf(value, options.context ?? currentContext() ?? {}) ?? null;
  } catch (cause) {
    const message = `The unique key() of job "${name}" threw: ${toError(cause).message}`;
    throw new LongshoreError('PAYLOAD', message, { cause });
  }
}

/** Names of queues and jobs contain no colon. Keys are separate per tenant. */
function storeKey({ queue, job, tenantId }: OutgoingMessage, key: string): string {
  const own = `unique:${queue}:${job}:${key}`;
  return tenantId === null ? own : `tenant:${tenantId.length}:${tenantId}:${own}`;
}
