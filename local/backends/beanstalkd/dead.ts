/** Dead letters are buried jobs. Their reasons are in the book of letters; whether they are still buried, the server says. */

import type { DeadLetter, DeadLetters } from '../../../core/contract/admin.ts';
import { writeNote } from './counting.ts';
import { refusal } from './errors.ts';
import { factsOf, markOf } from './facts.ts';
import type { BeanstalkdState } from './index.ts';
import { type Letter, lettersOf, removeLetters } from './letters.ts';
import { rankOf } from './rank.ts';
import { bytesOf } from './replies.ts';
import type { JobStats } from './stats.ts';

interface Found {
  readonly jobId: number;
  readonly tube: string;
  readonly body: Buffer;
  readonly stats: JobStats;
  readonly letter: DeadLetter;
}

const unknown =
  'UNKNOWN: The job was buried by another program, or by a worker without a store, so nobody has written why.';

export function beanstalkdDeadLetters(state: BeanstalkdState): DeadLetters {
  const { link, clock } = state;

  /** The job, if it is buried in this tube. */
  async function look(tube: string, jobId: number): Promise<{ body: Buffer; stats: JobStats } | null> {
    const [peeked, stats] = await Promise.all([link.send(`peek ${jobId}`), link.jobStats(jobId)]);
    if (peeked.word !== 'FOUND' || stats?.state !== 'buried' || stats.tube !== tube) return null;
    return { body: bytesOf(peeked.data!), stats };
  }

  async function check(tube: string, entry: Letter): Promise<Found | null> {
    const there = await look(tube, entry.jobId);
    const body = there?.body.toString('utf8');
    if (!there || body === undefined || markOf(body) !== entry.mark) return null;
    const { id, job, reason, error, attempt, diedAt, jobId } = entry;
    const queue = state.queueOf(tube);
    const letter = { id, queue, job, reason, error, attempt, diedAt, body };
    return { jobId, tube, letter, ...there };
  }

  /** The first one buried is the only one that the server shows by itself. */
  async function first(tube: string, known: ReadonlySet<number>): Promise<Found | null> {
    const { word, number: jobId } = await link.send('peek-buried', tube);
    if (word !== 'FOUND' || known.has(jobId)) return null;
    const there = await look(tube, jobId);
    if (!there) return null;
    const body = there.body.toString('utf8');
    const { id, job } = factsOf(body, jobId);
    const diedAt = clock.now() - there.stats.ageSeconds * 1_000; // not later than that is known
    const reason = 'rejected' as const;
    const queue = state.queueOf(tube);
    const letter = { id, queue, job, reason, error: unknown, attempt: there.stats.reserves, diedAt, body };
    return { jobId, tube, letter, ...there };
  }

  /** Newest first, those without a reason last. */
  async function* all(tube: string): AsyncGenerator<Found> {
    const known = new Set<number>();
    for await (const page of lettersOf(state, tube)) {
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

  /** Each id once, in every queue: an id does not tell its own. */
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
      if (gone.size > 0) await removeLetters(state, tube, gone);
    }
    return done.size;
  }

  async function remove({ jobId }: Found): Promise<boolean> {
    const { word } = await link.send(`delete ${jobId}`);
    if (word !== 'DELETED' && word !== 'NOT_FOUND') throw refusal('deleting a dead letter', word);
    return word === 'DELETED';
  }

  async function kick({ jobId, letter, stats }: Found): Promise<boolean> {
    const { reserves: uncounted, losses: told } = stats;
    await writeNote(state, jobId, { mark: markOf(letter.body), uncounted, told, expired: false });
    const { word } = await link.send(`kick-job ${jobId}`);
    if (word !== 'KICKED' && word !== 'NOT_FOUND') throw refusal('kicking a job', word);
    return word === 'KICKED';
  }

  /** Nobody else would know which attempts are to be forgotten. So it is a new job, put first: then nothing can be lost. */
  async function replace(found: Found): Promise<boolean> {
    const { tube, body, stats, jobId } = found;
    const { priority } = factsOf(found.letter.body, jobId);
    const rank = rankOf(clock.now(), priority, state.ageingMs);
    const connection = await link.connection();
    const use = link.use(connection, tube);
    if (use !== null) void connection.send(use).catch(() => {}); // its put fails too
    const { word } = await connection.send(`put ${rank} 0 ${stats.ttrSeconds} ${body.length}`, body);
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
    retry: (ids) => settle(ids, state.keepsNotes ? kick : replace),
    discard: (ids) => settle(ids, remove),
  };
}
