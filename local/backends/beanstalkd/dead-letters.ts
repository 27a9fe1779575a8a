/** Dead letters are buried jobs. Their reasons are in dead-letter-pages.ts; the server says which jobs are still buried. */

import type { DeadLetter, DeadLetters } from '../../../core/contract/admin.ts';
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
  readonly body: Buffer;
  readonly stats: JobStats;
  readonly letter: DeadLetter;
}

const unknown =
  'UNKNOWN: Another program has buried the job, or a worker without a store, so the reason was not stored.';

export function beanstalkdDeadLetters(state: BeanstalkdState): DeadLetters {
  const { link, clock } = state;

  /** The job, if it is buried in this tube. */
  async function look(tube: string, jobId: number): Promise<{ body: Buffer; stats: JobStats } | null> {
    const [peeked, stats] = await Promise.all([link.send(`peek ${jobId}`), link.jobStats(jobId)]);
    if (peeked.word !== 'FOUND' || stats?.state !== 'buried' || stats.tube !== tube) return null;
    return { body: bytesOf(peeked.data!), stats };
  }

  async function check(tube: string, entry: DeadLetterEntry): Promise<Found | null> {
    const there = await look(tube, entry.jobId);
    const body = there?.body.toString('utf8');
    if (!there || body === undefined || markOf(body) !== entry.mark) return null;
    const { id, job, reason, error, attempt, diedAt, jobId } = entry;
    const queue = state.queueOf(tube);
    const letter = { id, queue, job, reason, error, attempt, diedAt, body };
    return { jobId, tube, letter, ...there };
  }

  /** The server shows the job that was buried first, and no other. */
  async function first(tube: string, known: ReadonlySet<number>): Promise<Found | null> {
    const { word, number: jobId } = await link.send('peek-buried', { tube });
    if (word !== 'FOUND' || known.has(jobId)) return null;
    const there = await look(tube, jobId);
    if (!there) return null;
    const body = there.body.toString('utf8');
    const { id, job } = infoOf(body, jobId);
    const diedAt = clock.now() - there.stats.ageSeconds * 1_000; // when it was put: the server does not say more
    const reason = 'rejected' as const;
    const queue = state.queueOf(tube);
    const letter = { id, queue, job, reason, error: unknown, attempt: there.stats.reserves, diedAt, body };
    return { jobId, tube, letter, ...there };
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

  /** Without a store other processes cannot know that the old attempts are forgotten. So it becomes a new job, put before the old one is deleted. */
  async function replace(found: Found): Promise<boolean> {
    const { tube, body, stats, jobId } = found;
    const { priority } = infoOf(found.letter.body, jobId);
    const rank = rankOf(clock.now(), priority, state.ageingMs);
    const line = `put ${rank} 0 ${stats.ttrSeconds} ${body.length}`;
    const { word } = await link.send(line, { tube, body });
    if (word !== 'INSERTED') throw refusal('putting a dead letter back', word);
    return remove(found);
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
    retry: (ids) => settle(ids, state.keepsMetadata ? kick : replace),
    discard: (ids) => settle(ids, remove),
  };
}
