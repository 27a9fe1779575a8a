/** Decides which job a call returns: a new one or an earlier one. */

import { pause } from '../../base/clock.ts';
import { LongshoreError } from '../../base/errors.ts';
import type { JobStatus } from '../../contract/outcome.ts';
import type { OutgoingMessage } from '../../contract/queue.ts';
import type { UniqueRule } from '../../kernel/app/unique.ts';
import type { UniqueMessage } from '../../kernel/enqueue/draft.ts';
import { storePayloads, type Upload } from '../../kernel/enqueue/offload.ts';
import { knownNow } from '../../kernel/enqueue/skew.ts';
import { believed } from '../../kit/records/believe.ts';
import { checkUnique } from './needs.ts';
import { rewrite, type Sender, type Standing } from './stored-key.ts';

/** Jobs of the same call that are not sent yet. */
export interface Unsent {
  has(id: string): boolean;
  replace(message: OutgoingMessage, uploads: readonly Upload[]): void;
}

/** If no backend has the job this long after its key was taken, its sender died before sending. */
export const graceMs = 30_000;
/** How long to wait for the sender of such a job, which usually needs milliseconds. */
const longestWaitMs = 10_000;
/** How long a key is kept after the time when its job may run. Each call with the key extends it. */
const keepMs = 7 * 86_400_000;
/** The most waiting jobs per key that are checked. */
export const mostIds = 20;

type Status = JobStatus | null;

const statuses = {
  waiting: ['pending', 'retrying'],
  running: ['processing'],
  either: ['pending', 'retrying', 'processing'],
} satisfies Record<string, readonly Status[]>;
const is = (what: keyof typeof statuses, status: Status | undefined): boolean =>
  (statuses[what] as readonly unknown[]).includes(status);

/**
 * Resolves with the id of the active job. If that is the message's own id, its key is taken and the message must be sent. Throws `CONFIG` if the
 * backend or its store does not support the rule, and `BACKEND` if it is not known whether an earlier job was sent.
 */
export async function decide(client: Sender, unsent: Unsent, message: UniqueMessage): Promise<string> {
  checkUnique(client, message.job, message.unique.rule);
  let waitedMs = 0;
  for (let pauseMs = 5; ; pauseMs = Math.min(100, pauseMs * 2)) {
    const id = await rewrite(client, message.unique.key, (old) => judge(client, unsent, message, old));
    if (id !== null) return id;
    if (waitedMs > longestWaitMs)
      throw new LongshoreError(
        'BACKEND',
        `Another call with the unique key of job "${message.job}" has not finished, so it is unknown whether its job was sent. Try again in ${graceMs / 1_000} s.`,
      );
    await pause(client.app.clock, pauseMs);
    waitedMs += pauseMs;
  }
}

/** `answer: null` = it is not known yet. */
async function judge(
  client: Sender,
  unsent: Unsent,
  message: UniqueMessage,
  old: Standing | null,
): Promise<{ answer: string | null; standing: Standing }> {
  const { during: time, onConflict } = message.unique.rule;
  const now = await knownNow(client);
  const keepUntil =
    typeof time === 'object' ? now + time.forMs : Math.max(now, message.notBefore ?? 0) + keepMs;
  const take = (others: readonly string[] = []) => {
    const ids = [message.id, ...others].slice(0, mostIds);
    return { answer: message.id, standing: { ids, at: now, sent: false, keepUntil } };
  };
  if (!old) return take();
  // A repeated call for the same message, because sending took long.
  if (!old.sent && old.ids[0] === message.id)
    return { answer: message.id, standing: { ...old, at: now, keepUntil } };
  const seen = await look(client, unsent, time, old);
  const isUnseen = !old.sent && seen[0] === null;
  if (isUnseen && time !== 'running' && now - old.at < graceMs) return { answer: null, standing: old };

  if (typeof time === 'object') {
    const stands = !isUnseen && now < old.at + time.forMs;
    if (!stands) return take();
    if (onConflict === 'replace') await replace(client, unsent, message, old.ids[0]!, old.at);
    return { answer: old.ids[0]!, standing: old };
  }
  const id = old.ids.find((_, i) => is(time, seen[i]));
  // Only with `during: 'running'` several jobs may wait.
  const others = time === 'running' ? old.ids.filter((_, i) => is('either', seen[i])) : [];
  if (id === undefined) return take(others);
  const stays = { answer: id, standing: { ...old, keepUntil: Math.max(old.keepUntil, keepUntil) } };
  if (onConflict === 'skip' || (await replace(client, unsent, message, id, old.at))) return stays;
  // The job is not waiting: it runs, or has ended meanwhile.
  return time !== 'waiting' && is(time, await statusOf(client, unsent, id)) ? stays : take(others);
}

/** The states of the earlier jobs; `null` = no backend has the job. */
async function look(
  client: Sender,
  unsent: Unsent,
  time: UniqueRule<unknown>['during'],
  { ids, sent }: Standing,
): Promise<readonly Status[]> {
  if (typeof time === 'object' && sent) return [];
  const asked = time === 'running' ? ids : ids.slice(0, 1);
  return Promise.all(asked.map((id) => statusOf(client, unsent, id)));
}

async function statusOf({ app, stores: { records } }: Sender, unsent: Unsent, id: string): Promise<Status> {
  if (unsent.has(id)) return 'pending';
  return believed(app, await records.get(id))?.status ?? null;
}

/** Replaces the content of the active job by the message's. `false` = the job is not waiting. */
async function replace(
  client: Sender,
  unsent: Unsent,
  { unique: { rule, make } }: UniqueMessage,
  id: string,
  since: number,
): Promise<boolean> {
  const { backend, stores } = client;
  const { waitMs, maxWaitMs = Number.POSITIVE_INFINITY } = rule;
  const uploads: Upload[] = [];
  const timing =
    waitMs === undefined
      ? {}
      : { delayMs: Math.max(0, Math.min(waitMs, since + maxWaitMs - (await knownNow(client)))) };
  const message = await make(timing, stores.payloads ? uploads : null, id);
  if (unsent.has(id)) {
    unsent.replace(message, uploads);
    return true;
  }
  if (stores.payloads)
    for (const error of (await storePayloads(stores.payloads, uploads)).values()) throw error;
  const { queue, body, facts, priority, notBefore } = message;
  const change = { body, priority, notBefore, ...(facts && { facts }) };
  return (await backend.pending!.change([{ queue, id }], change))[0]!;
}
