/** Retries and discards dead letters. */

import { toError } from '../base/failure.ts';
import type { Replacement } from '../contract/admin.ts';
import { retryDeadLetters } from '../features/batches/retry-dead-letters.ts';
import { deadLettersOf } from '../kernel/enqueue/admin-of.ts';
import { signedEnvelope } from '../kernel/enqueue/anew.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { nowOf } from '../kernel/enqueue/skew.ts';
import { getDeadLetters } from '../kit/records/dead-letter-pages.ts';
import { audited } from './audit.ts';
import { type BulkWork, checkBulk, inBulk, type Refused } from './bulk.ts';
import { expiredText, isExpired, signedAnew } from './edit.ts';
import { jobsAreGone } from './forget-jobs.ts';
import type { OperatorHost } from './host.ts';
import { envelopeIn } from './select.ts';
import type { BulkOptions, BulkResult, DeadLetterItem, DeadLetterSelection, RetryOptions } from './types.ts';
import { watchOf } from './watch.ts';
import { selectionText } from './words.ts';

export async function retry(
  host: OperatorHost,
  selection: DeadLetterSelection,
  options: RetryOptions = {},
): Promise<BulkResult> {
  checkBulk(selection, options);
  const { stopAbovePercent, signal } = options;
  const replaced = new Map<string, Replacement>();
  return settle(host, 'dead.retry', selection, options, (client) => ({
    watch: stopAbovePercent === undefined ? null : watchOf(client, stopAbovePercent, signal),
    check: (letters) => checked(client, letters, options.expiresInMs, replaced),
    act: (letters) => retryDeadLetters(client, letters.map(idOf), replaced),
  }));
}

export async function discard(
  host: OperatorHost,
  selection: DeadLetterSelection,
  options: BulkOptions = {},
): Promise<BulkResult> {
  checkBulk(selection, options);
  return settle(host, 'dead.discard', selection, options, (client) => ({
    check: async (letters) => ({ fit: letters, refused: [] }),
    act: (letters) => discardAll(client, letters),
  }));
}

/** A broker may move a message there by itself, and its record does not know. */
async function discardAll(client: Client, letters: readonly DeadLetterItem[]): Promise<number> {
  const count = await deadLettersOf(client).discard(letters.map(idOf));
  if (client.stores.records.writer)
    await jobsAreGone(client, letters.filter(({ reason }) => reason === 'crash-loop').map(idOf));
  return count;
}

const idOf = ({ id }: DeadLetterItem): string => id;

async function settle(
  host: OperatorHost,
  action: 'dead.retry' | 'dead.discard',
  selection: DeadLetterSelection,
  options: RetryOptions,
  workOn: (home: Client) => BulkWork,
): Promise<BulkResult> {
  if (options.dryRun) return inBulk(host.client, selection, options, workOn, () => {});
  return audited(host, action, selectionText(selection, { ...options }), async (record) => {
    record(0);
    const result = await inBulk(host.client, selection, options, workOn, record);
    const { done, missing, refused, left, ended } = result;
    const parts = [
      ended === 'all' || ended === 'partly' ? '' : `ended: ${ended}`,
      missing.length > 0 ? `${missing.length} missing` : '',
      refused.length > 0 ? `${refused.length} refused` : '',
      left > 0 ? `${left} not found` : '',
    ];
    record(done, parts.filter((part) => part !== '').join(', ') || undefined);
    return result;
  });
}

/** @param replaced gets the new texts of those that need one */
async function checked(
  client: Client,
  letters: readonly DeadLetterItem[],
  expiresInMs: number | undefined,
  replaced: Map<string, Replacement>,
): Promise<{ readonly fit: readonly DeadLetterItem[]; readonly refused: readonly Refused[] }> {
  const { app } = client;
  replaced.clear();
  const refused = new Map<string, string>();
  // Only jobs with an expiry have letters that expire: the texts of all the others need not be fetched.
  const mayExpire = ({ job, reason }: DeadLetterItem): boolean =>
    expiresInMs !== undefined || (reason !== 'expired' && app.jobs.get(job)?.expiresInMs !== null);
  const texts = await getDeadLetters(deadLettersOf(client), letters.filter(mayExpire).map(idOf));
  const now = texts.size > 0 ? await nowOf(client) : 0;
  for (const { id, reason } of letters) {
    const letter = texts.get(id);
    if (!letter) {
      if (reason === 'expired') refused.set(id, expiredText);
    } else if (expiresInMs === undefined) {
      const envelope = envelopeIn(app, letter.body);
      if (envelope && isExpired(envelope, now)) refused.set(id, expiredText);
    } else {
      try {
        const envelope = signedEnvelope(client, letter);
        if (envelope.expiresAt == null) continue;
        replaced.set(id, signedAnew(client, { ...envelope, expiresAt: now + expiresInMs }, null));
      } catch (error) {
        refused.set(id, toError(error).message);
      }
    }
  }
  return {
    fit: letters.filter(({ id }) => !refused.has(id)),
    refused: [...refused].map(([id, why]) => ({ id, why })),
  };
}
