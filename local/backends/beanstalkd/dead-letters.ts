/** Dead letters are buried jobs. Their reasons are in dead-letter-pages.ts; the server says which jobs are still buried. */

import type { DeadLetter, DeadLetters } from '../../../core/contract/admin.ts';
import { checkReplaced } from '../../../core/kit/body-limit.ts';
import { textOfDeadLetter } from '../../../core/kit/records/copies.ts';
import { type DeadLetterEntry, deadLettersOf, removeDeadLetters } from './dead-letter-pages.ts';
import { refusal, succeeded } from './errors.ts';
import { infoOf, markOf } from './job-info.ts';
import { writeMetadata } from './job-metadata.ts';
import { rankOf } from './rank.ts';
import { bytesOf } from './replies.ts';
import type { BeanstalkdState } from './state.ts';
import type { JobStats } from './stats.ts';

interface Found {
  readonly jobId: number;
  readonly tube: string;
  readonly bytes: Buffer;
  readonly stats: JobStats;
  readonly letter: DeadLetter;
}

type Details = Omit<DeadLetter, 'queue' | 'body'>;

const unknown =
  'UNKNOWN: Another program has buried the job, or a worker without a store, so the reason was not stored.';

export function beanstalkdDeadLetters(state: BeanstalkdState): DeadLetters {
  const { link, clock } = state;

  /** The job, if it is buried in this tube and `detailsOf` knows it. */
  async function find(
    tube: string,
    jobId: number,
    detailsOf: (body: string, stats: JobStats) => Details | null,
  ): Promise<Found | null> {
    const [peeked, stats] = await Promise.all([link.send(`peek ${jobId}`), link.jobStats(jobId)]);
    if (peeked.word !== 'FOUND' || stats?.state !== 'buried' || stats.tube !== tube) return null;
    const bytes = bytesOf(peeked.data!);
    const body = bytes.toString('utf8');
    const details = detailsOf(body, stats);
    return details && { jobId, tube, bytes, stats, letter: { ...details, queue: state.queueOf(tube), body } };
  }

  /** Another job may have the number now. */
  const check = (tube: string, { jobId, mark, ...details }: DeadLetterEntry): Promise<Found | null> =>
    find(tube, jobId, (body) => (markOf(body) === mark ? details : null));

  /** The server shows the job that was buried first, and no other. */
  async function first(tube: string, known: ReadonlySet<number>): Promise<Found | null> {
    const { word, number: jobId } = await link.send('peek-buried', { tube });
    if (word !== 'FOUND' || known.has(jobId)) return null;
    return find(tube, jobId, (body, { reserves: attempt, ageSeconds }) => {
      const { id, job } = infoOf(body, jobId);
      const diedAt = clock.now() - ageSeconds * 1_000; // when it was put: the server does not say more
      return { id, job, reason: 'rejected', error: unknown, attempt, diedAt };
    });
  }

  /** Newest first, those without a reason last. */
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

  /** Looks in every queue, because an id does not say which is its own. Counts each id once. */
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
   * A new job, which begins without attempts also where metadata is not kept, and which may have another text. It is put before the old
   * one is deleted: nothing is lost.
   */
  async function putAgain(found: Found, body: string): Promise<boolean> {
    const { tube, stats, jobId } = found;
    const bytes = body === found.letter.body ? found.bytes : Buffer.from(body);
    const rank = rankOf(clock.now(), infoOf(body, jobId).priority, state.ageingMs);
    const line = `put ${rank} 0 ${stats.ttrSeconds} ${bytes.length}`;
    const { word } = await link.send(line, { tube, body: bytes });
    if (word !== 'INSERTED') throw refusal('putting a dead letter back', word);
    return remove(found);
  }

  /** In every queue, because an id does not say which is its own. Bodies of other letters are not read. */
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
