/**
 * Dead letters are buried jobs. The server shows only the first buried job of a tube, so the store keeps a list of them with their
 * reasons, in pages of 50 with a key each; new entries go to the last page. The server then says which of these jobs are still buried.
 */

import type { DeadLetter, DeadLetters } from '../../../core/contract/admin.ts';
import type { AbandonReason } from '../../../core/contract/outcome.ts';
import { checkReplaced } from '../../../core/kit/body-limit.ts';
import { textOfDeadLetter } from '../../../core/kit/records/copies.ts';
import { infoOf, type JobStats, markOf, rankOf } from './job.ts';
import { writeMetadata } from './job-metadata.ts';
import { bytesOf, succeeded } from './replies.ts';
import type { BeanstalkdState } from './state.ts';

interface Found {
  readonly jobId: number;
  readonly tube: string;
  readonly bytes: Buffer;
  readonly stats: JobStats;
  readonly letter: DeadLetter;
}

type Details = Omit<DeadLetter, 'queue' | 'body'>;

const unknown =
  'UNKNOWN: The job was buried by another program or by a worker without a store, so its reason is not known.';

export function beanstalkdDeadLetters(state: BeanstalkdState): DeadLetters {
  const { link, clock } = state;

  /** Finds the job if it is buried in this tube and `detailsOf` has its details. */
  async function find(
    tube: string,
    jobId: number,
    detailsOf: (body: string, stats: JobStats) => Details | null,
  ): Promise<Found | null> {
    const [peeked, stats] = await Promise.all([link.peek(`peek ${jobId}`), link.jobStats(jobId)]);
    if (!peeked || stats?.state !== 'buried' || stats.tube !== tube) return null;
    const bytes = bytesOf(peeked.data);
    const body = bytes.toString('utf8');
    const details = detailsOf(body, stats);
    return details && { jobId, tube, bytes, stats, letter: { ...details, queue: state.queueOf(tube), body } };
  }

  /** Checks that the job is still the same one, because another job may have its number now. */
  const check = (tube: string, { jobId, mark, ...details }: DeadLetterEntry): Promise<Found | null> =>
    find(tube, jobId, (body) => (markOf(body) === mark ? details : null));

  /** The first buried job, the only one that the server shows. `null` if it is known. */
  async function first(tube: string, known: ReadonlySet<number>): Promise<Found | null> {
    const { jobId } = (await link.peek('peek-buried', tube)) ?? {};
    if (jobId === undefined || known.has(jobId)) return null;
    return find(tube, jobId, (body, { reserves: attempt, ageSeconds }) => {
      const { id, job } = infoOf(body, jobId);
      const diedAt = clock.now() - ageSeconds * 1_000; // the time of its put: the server does not know when it died
      return { id, job, reason: 'rejected', error: unknown, attempt, diedAt };
    });
  }

  /** Newest first; dead letters without a stored reason last. */
  async function* all(tube: string): AsyncGenerator<Found> {
    const known = new Set<number>();
    for await (const page of deadLettersOf(state, tube)) {
      const fresh = page.filter(({ jobId }) => !known.has(jobId));
      for (const { jobId } of fresh) known.add(jobId);
      for (const found of await Promise.all(fresh.map((entry) => check(tube, entry)))) if (found) yield found;
    }
    const other = await first(tube, known);
    if (other) yield other;
  }

  async function tubesWithDead(queue?: string): Promise<string[]> {
    const tubes = queue === undefined ? await state.tubes() : [state.tubeOf(queue)];
    const stats = await Promise.all(tubes.map((tube) => link.tubeStats(tube)));
    return tubes.filter((_, i) => (stats[i]?.buried ?? 0) > 0);
  }

  /** Looks in every queue, because an id does not name its queue. Counts each id once. */
  async function settle(ids: readonly string[], how: (found: Found) => Promise<boolean>): Promise<number> {
    const wanted = new Set(ids);
    const done = new Set<string>();
    if (wanted.size === 0) return 0;
    for (const tube of await tubesWithDead()) {
      const gone = new Set<number>();
      for await (const found of all(tube)) {
        if (!wanted.has(found.letter.id) || !(await how(found))) continue;
        gone.add(found.jobId);
        done.add(found.letter.id);
      }
      if (gone.size > 0) await removeDeadLetters(state, tube, gone);
    }
    return done.size;
  }

  const remove = ({ jobId }: Found): Promise<boolean> =>
    succeeded(link.send(`delete ${jobId}`), 'DELETED', 'deleting a dead letter');

  async function kick({ jobId, letter, stats }: Found): Promise<boolean> {
    const { reserves: uncounted, losses: told } = stats;
    await writeMetadata(state, jobId, { mark: markOf(letter.body), uncounted, told, expired: false });
    return succeeded(link.send(`kick-job ${jobId}`), 'KICKED', 'kicking a job');
  }

  /**
   * Puts a new job, possibly with another body, which begins without attempts even if metadata is not kept. The old job is deleted
   * after that, so that nothing is lost.
   */
  async function putAgain(found: Found, body: string): Promise<boolean> {
    const { tube, stats, jobId } = found;
    const bytes = body === found.letter.body ? found.bytes : Buffer.from(body);
    const rank = rankOf(clock.now(), infoOf(body, jobId).priority, state.ageingMs);
    await link.put(tube, [rank, 0, stats.ttrSeconds], bytes);
    return remove(found);
  }

  /** Looks in every queue, because an id does not name its queue. Does not read the bodies of other dead letters. */
  async function get(id: string): Promise<DeadLetter | null> {
    for (const tube of await tubesWithDead()) {
      const known = new Set<number>();
      for await (const page of deadLettersOf(state, tube)) {
        for (const entry of page) {
          const found = entry.id === id && !known.has(entry.jobId) ? await check(tube, entry) : null;
          if (found) return found.letter;
          known.add(entry.jobId);
        }
      }
      const other = await first(tube, known);
      if (other?.letter.id === id) return other.letter;
    }
    return null;
  }

  return {
    async list({ queue, max = 100 }) {
      const letters: DeadLetter[] = [];
      for (const tube of await tubesWithDead(queue)) {
        let count = 0;
        for await (const { letter } of all(tube)) {
          letters.push(letter);
          if (++count >= max) break;
        }
      }
      return letters.sort((a, b) => b.diedAt - a.diedAt).slice(0, max);
    },
    get,
    async retry(ids, replaced) {
      checkReplaced(replaced, state.maxBodyBytes);
      const retried = new Set<string>();
      return settle(ids, async (found) => {
        const text = textOfDeadLetter(found.letter);
        if (retried.has(text)) return remove(found);
        retried.add(text);
        const body = replaced?.get(found.letter.id)?.body;
        return body === undefined && state.keepsMetadata
          ? kick(found)
          : putAgain(found, body ?? found.letter.body);
      });
    },
    discard: (ids) => settle(ids, remove),
  };
}

/** Stored as JSON, so its members must not be renamed. */
interface DeadLetterEntry {
  readonly jobId: number;
  /** Hash of its body, see `markOf`. */
  readonly mark: string;
  readonly id: string;
  readonly job: string;
  readonly reason: AbandonReason;
  readonly error: string;
  readonly attempt: number;
  readonly diedAt: number;
}

/** Stored as JSON, so its members must not be renamed. */
interface Page {
  /** Number of full pages before this one. */
  readonly number: number;
  /** Oldest first. */
  readonly letters: readonly DeadLetterEntry[];
}

const perPage = 50;
/** Keeps pages small. */
const longestError = 1_000;

const openPage = ({ scope }: BeanstalkdState, tube: string): string => `${scope}/dead/${tube}`;
const fullPage = (state: BeanstalkdState, tube: string, number: number): string =>
  `${openPage(state, tube)}/${number}`;

export async function addDeadLetter(
  state: BeanstalkdState,
  tube: string,
  entry: DeadLetterEntry,
): Promise<void> {
  const added = { ...entry, error: entry.error.slice(0, longestError) };
  let full: Page | null = null;
  await state.metadata.update<Page>(openPage(state, tube), (page) => {
    const { number, letters } = page ?? { number: 0, letters: [] };
    const others = letters.filter(({ jobId }) => jobId !== entry.jobId);
    if (others.length < perPage) return { number, letters: [...others, added] };
    full = { number, letters: others };
    return { number: number + 1, letters: [added] };
  });
  // A process that is killed here loses 50 reasons. The jobs are still buried, and the first of them is shown.
  if (full !== null) {
    const page: Page = full;
    await state.metadata.update<Page>(fullPage(state, tube, page.number), () => page);
  }
}

/** The pages that still exist, with their keys, newest first. */
async function* pagesOf(state: BeanstalkdState, tube: string): AsyncGenerator<[key: string, page: Page]> {
  let key = openPage(state, tube);
  let page = await state.metadata.read<Page>(key);
  for (let number = page?.number ?? 0; page; page = await state.metadata.read<Page>(key)) {
    yield [key, page];
    if (--number < 0) return;
    key = fullPage(state, tube, number);
  }
}

/** Newest first, a page at a time. */
export async function* deadLettersOf(
  state: BeanstalkdState,
  tube: string,
): AsyncGenerator<readonly DeadLetterEntry[]> {
  for await (const [, { letters }] of pagesOf(state, tube)) yield letters.toReversed();
}

async function removeDeadLetters(
  state: BeanstalkdState,
  tube: string,
  gone: ReadonlySet<number>,
): Promise<void> {
  for await (const [key, { letters }] of pagesOf(state, tube)) {
    if (!letters.some(({ jobId }) => gone.has(jobId))) continue;
    await state.metadata.update<Page>(
      key,
      (page) => page && { ...page, letters: page.letters.filter(({ jobId }) => !gone.has(jobId)) },
    );
  }
}
