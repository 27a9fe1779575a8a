/** Retries or discards many dead letters: selects them, splits them into groups, and decides when to stop. */

import { type Clock, sleep } from '../base/clock.ts';
import { toError, type UnavailableBackend } from '../base/failure.ts';
import type { Replacement } from '../contract/admin.ts';
import { retryDeadLetters } from '../features/batches/retry-dead-letters.ts';
import { adminOf, deadLettersOf } from '../kernel/enqueue/admin-of.ts';
import { signedEnvelope } from '../kernel/enqueue/anew.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { wrongOption } from '../kernel/enqueue/prepare.ts';
import { nowOf } from '../kernel/enqueue/skew.ts';
import { getDeadLetters, summaryOf } from '../kit/records/dead-letter-pages.ts';
import { askEach, awayOf, NoAnswerError } from '../routing/each.ts';
import { audited, type OperatorHost, selectionText } from './audit.ts';
import { checkExpiry, expiredText, isExpired, signedAnew } from './edit.ts';
import { jobsAreGone } from './forget-jobs.ts';
import { administered, envelopeIn, isNarrow, itemOf, itemsOf } from './select.ts';
import type {
  BulkOptions,
  BulkProgress,
  BulkResult,
  DeadLetterItem,
  DeadLetterSelection,
  RetryOptions,
} from './types.ts';
import { type Watch, watchOf } from './watch.ts';

type Refused = BulkResult['refused'][number];

/** A result lists at most this many refused letters. */
const mostRefused = 1_000;

/** A bulk action on one backend. */
interface BulkWork {
  /** Splits letters into those that can be changed and those that cannot, with the reason. Changes nothing. */
  check(
    letters: readonly DeadLetterItem[],
  ): Promise<{ readonly fit: readonly DeadLetterItem[]; readonly refused: readonly Refused[] }>;
  /** Resolves with the number of letters that were found. */
  act(letters: readonly DeadLetterItem[]): Promise<number>;
  readonly watch?: Watch | null;
}

/**
 * Works through the backends one after the other.
 * @param workOn is called once for each backend
 * @param record is called after each group, with the number of letters that are done
 */
async function inBulk(
  client: Client,
  selection: DeadLetterSelection,
  options: Pick<RetryOptions, keyof BulkOptions | 'perSecond'>,
  workOn: (home: Client) => BulkWork,
  record: (done: number) => void,
): Promise<BulkResult> {
  const { dryRun = false, limit = Infinity, signal, onProgress, perSecond } = options;
  const homes = administered(client).map((home) => ({ home, work: workOn(home) }));
  /** Ids that were not found on any backend so far. */
  let missing: string[] = [];
  const refused: Refused[] = [];
  const pace = paceOf(perSecond, { clock: client.app.clock, signal });
  let done = 0;
  let fitting = 0;
  let left = 0;
  let total = dryRun ? null : await totalOf(client, selection, limit);
  const watched = (of: 'ran' | 'failedAgain') =>
    homes.reduce((sum, { work: { watch } }) => sum + (watch?.counts()[of] ?? 0), 0);
  const progress = (): BulkProgress => ({
    ...{ done, total, ran: watched('ran'), failedAgain: watched('failedAgain') },
  });
  const report = () => onProgress?.(progress());
  const away: UnavailableBackend[] = [];
  const result = (ended: BulkResult['ended'], unseen: readonly string[] = missing): BulkResult => {
    if (dryRun) total = fitting;
    const unavailable = away.length > 0 ? { unavailable: away } : {};
    return { ...progress(), missing: unseen, refused, left, ended, ...unavailable };
  };

  /** Resolves with why the whole action ends early; `null` = it goes on with the next backend. */
  async function onBackend(
    home: Client,
    { check, act, watch = null }: BulkWork,
    wanted: DeadLetterSelection,
  ): Promise<BulkResult['ended'] | null> {
    /** Ids that were acted on. A broker that lists several copies of a message acts on all of them at once. */
    const taken = new Set<string>();
    async function onPiece(piece: readonly DeadLetterItem[], isCopied: boolean) {
      if (signal?.aborted) return 'stopped';
      const checked = await check(piece);
      refused.push(...checked.refused.slice(0, mostRefused - refused.length));
      fitting += checked.fit.length;
      if (dryRun || checked.fit.length === 0) return null;
      await pace.next(checked.fit.length);
      if (signal?.aborted) return 'stopped';
      await watch?.mark(checked.fit.map(idOf));
      const asked = new Set(checked.fit.map(idOf).filter((id) => !taken.has(id)));
      const found = await act(checked.fit);
      if (isCopied) for (const id of asked) taken.add(id);
      left += Math.max(0, asked.size - found);
      done += found;
      record(done);
      report();
      return (await watch?.isFailing(report)) ? 'failing' : null;
    }
    for await (const page of pagesOf(home, wanted, missing)) {
      const inPasses = deadLettersOf(home).page ? null : page.length;
      for (let at = 0; at < page.length; ) {
        const room = limit - (dryRun ? fitting : done);
        if (room <= 0) return 'limit';
        // Takes the newest letters up to the limit, then starts with the oldest of them: it is nearest to the front of the queue.
        const group = page.slice(at, at + room).reverse();
        at += group.length;
        for (let from = 0; from < group.length; ) {
          const size = Math.min(pace.sizeOf(inPasses), watch?.size() ?? Infinity);
          const piece = group.slice(from, from + size);
          from += piece.length;
          const ended = await onPiece(piece, inPasses !== null);
          if (ended) return ended;
        }
      }
    }
    return null;
  }

  for (const [i, { home, work }] of homes.entries()) {
    const wanted = i > 0 && 'ids' in selection ? { ids: missing } : selection;
    missing = [];
    const ended = await onBackend(home, work, wanted).catch((error) => {
      if (homes.length === 1) throw error;
      away.push(awayOf(home, error));
      if (away.length === homes.length) throw new NoAnswerError(away, error);
      if ('ids' in wanted) missing = [...wanted.ids];
      return null;
    });
    // An id that is missing here may be on the next backend.
    if (ended) return result(ended, i < homes.length - 1 ? [] : missing);
  }
  return result(left > 0 ? 'partly' : 'all');
}

const idOf = ({ id }: DeadLetterItem): string => id;

/** The number of letters in the selection. `null` = the filter needs more than the counts of the queues. */
export async function totalOf(
  client: Client,
  selection: DeadLetterSelection,
  limit = Infinity,
): Promise<number | null> {
  if ('ids' in selection) return Math.min(limit, new Set(selection.ids).size);
  const { filter } = selection;
  if (isNarrow(filter)) return null;
  const { answers } = await askEach(administered(client), (one) => adminOf(one).stats(filter.queue));
  const stats = answers.flatMap(({ answer }) => answer);
  return Math.min(
    limit,
    stats.reduce((sum, { dead }) => sum + dead, 0),
  );
}

const idsAtOnce = 500;

async function* pagesOf(
  client: Client,
  selection: DeadLetterSelection,
  missing: string[],
): AsyncGenerator<readonly DeadLetterItem[]> {
  const deadLetters = deadLettersOf(client);
  if ('filter' in selection) {
    yield* itemsOf({ app: client.app, deadLetters }, selection.filter);
    return;
  }
  const ids = [...new Set(selection.ids)];
  const size = deadLetters.get ? idsAtOnce : Math.max(1, ids.length);
  for (let from = 0; from < ids.length; from += size) {
    const some = ids.slice(from, from + size);
    const found = await getDeadLetters(deadLetters, some);
    missing.push(...some.filter((id) => !found.has(id)));
    yield some.flatMap((id) => {
      const letter = found.get(id);
      return letter ? [itemOf(summaryOf(letter, null))] : [];
    });
  }
}

function checkBulk(selection: DeadLetterSelection, options: RetryOptions): void {
  const { limit, perSecond, stopAbovePercent, expiresInMs } = options;
  const isOne = typeof selection === 'object' && selection !== null;
  const hasIds = isOne && 'ids' in selection && Array.isArray(selection.ids);
  const hasFilter = isOne && 'filter' in selection && typeof selection.filter === 'object';
  if (hasIds === hasFilter) throw wrongOption('either the ids of dead letters or a filter');
  if (hasIds && !selection.ids.every((id) => typeof id === 'string')) throw wrongOption('ids to be texts');
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1))
    throw wrongOption(`limit to be an integer of 1 or more, got ${limit}`);
  if (perSecond !== undefined && !(Number.isFinite(perSecond) && perSecond > 0))
    throw wrongOption(`perSecond to be a number above 0, got ${perSecond}`);
  if (stopAbovePercent !== undefined && !(stopAbovePercent >= 0 && stopAbovePercent <= 100))
    throw wrongOption(`stopAbovePercent to be from 0 to 100, got ${stopAbovePercent}`);
  checkExpiry(expiresInMs);
}

/**
 * Receiving one dead letter from SQS or Service Bus also receives its neighbours and raises their delivery counts. So
 * the number of passes through a queue is limited, even when `perSecond` is low.
 */
const mostPasses = 200;
const mostTogether = 500;

export function paceOf(
  perSecond: number | undefined,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal | undefined },
) {
  let freeAt = clock.now();
  return {
    /**
     * The size of the next group.
     * @param inPasses the number of letters, if each group needs a pass through the queue; `null` = letters are found by their ids
     */
    sizeOf(inPasses: number | null): number {
      const evenly = perSecond === undefined ? Infinity : Math.max(1, Math.floor(perSecond));
      if (inPasses === null) return Math.min(mostTogether, evenly);
      return Math.max(evenly, Math.ceil(inPasses / mostPasses));
    },
    /** Waits until `count` more letters may go out. */
    async next(count: number): Promise<void> {
      if (perSecond === undefined) return;
      const delayMs = freeAt - clock.now();
      freeAt = Math.max(freeAt, clock.now()) + (count * 1_000) / perSecond;
      await sleep(clock, delayMs, signal);
    },
  };
}

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

/** The broker itself may have dead-lettered a message (`crash-loop`). Then the record of its job is still open and is ended here. */
async function discardAll(client: Client, letters: readonly DeadLetterItem[]): Promise<number> {
  const count = await deadLettersOf(client).discard(letters.map(idOf));
  if (client.stores.records.writer)
    await jobsAreGone(client, letters.filter(({ reason }) => reason === 'crash-loop').map(idOf));
  return count;
}

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

/** @param replaced receives the new text of each letter that needs one */
async function checked(
  client: Client,
  letters: readonly DeadLetterItem[],
  expiresInMs: number | undefined,
  replaced: Map<string, Replacement>,
): Promise<{ readonly fit: readonly DeadLetterItem[]; readonly refused: readonly Refused[] }> {
  const { app } = client;
  replaced.clear();
  const refused = new Map<string, string>();
  // Only jobs with an expiry have letters that expire, so only the texts of those are fetched.
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
