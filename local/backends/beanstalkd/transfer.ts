/**
 * What `longshore move` may do here beside fetching and enqueueing. beanstalkd shows the delayed job that is due next, and no
 * other; and a job that was put can be buried, or given attempts, before anybody can have it.
 */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import type { Envelope } from '../../../core/envelope/envelope.ts';
import type { MovedJob, PartialTransfer } from '../../move/contract.ts';
import { countOf, noNote, readNote, writeNote } from './counting.ts';
import { refusal } from './errors.ts';
import { factsOf, markOf } from './facts.ts';
import type { BeanstalkdState } from './index.ts';
import { addLetter } from './letters.ts';
import { rankOf, secondsOf } from './rank.ts';
import { textOf } from './replies.ts';

type Enqueue = (messages: readonly OutgoingMessage[]) => Promise<SendResult[]>;

/** A job that is put aside is out of everybody's reach for so long. */
const asideSeconds = 2 ** 32 - 1;
/** What is further away than any job's delay was put aside by a move that was killed, and then put again. */
const neverSeconds = 2 ** 31;

export function beanstalkdTransfer(
  state: BeanstalkdState,
  { enqueue, maxBodyBytes, ttrMs }: { enqueue: Enqueue; maxBodyBytes: number; ttrMs: number },
): PartialTransfer {
  const { link, clock } = state;
  const shown = new Map<string, number>();

  /** Where nobody finds it yet. */
  async function putAside({ message, death }: MovedJob): Promise<{ jobId: number; rank: number }> {
    const { body, queue, priority } = message;
    const bytes = Buffer.byteLength(body);
    if (bytes > maxBodyBytes)
      throw new LongshoreError('LIMIT', `Expected a message of at most ${maxBodyBytes} bytes, got ${bytes}.`);
    const rank = rankOf(death?.at ?? Math.max(clock.now(), message.notBefore ?? 0), priority, state.ageingMs);
    const line = `put ${rank} ${asideSeconds} ${secondsOf(ttrMs)} ${bytes}`;
    const connection = await link.connection();
    const use = link.use(connection, state.tubeOf(queue));
    if (use !== null) void connection.send(use).catch(() => {}); // its put fails too
    const { word, number } = await connection.send(line, body);
    if (word === 'BURIED') await connection.send(`delete ${number}`);
    if (word !== 'INSERTED') throw refusal('putting a job', word === 'BURIED' ? 'OUT_OF_MEMORY' : word);
    return { jobId: number, rank };
  }

  async function ask(line: string, expected: string): Promise<void> {
    const { word } = await link.send(line);
    if (word !== expected) throw refusal('moving a job', word);
  }

  async function bury(job: MovedJob, death: NonNullable<MovedJob['death']>): Promise<void> {
    const { id, queue, job: name, body } = job.message;
    const { jobId, rank } = await putAside(job);
    const { reason, error, at: diedAt } = death;
    const letter = { jobId, mark: markOf(body), id, job: name, reason, error, attempt: job.attempts, diedAt };
    await addLetter(state, state.tubeOf(queue), letter);
    await ask(`reserve-job ${jobId}`, 'RESERVED');
    await ask(`bury ${jobId} ${rank}`, 'BURIED');
  }

  /** Nobody reads a note of a job that was never reserved: so it is, once, and the note says how many attempts that was. */
  async function line(job: MovedJob): Promise<void> {
    const { body, notBefore } = job.message;
    const { jobId, rank } = await putAside(job);
    const uncounted = 1 - job.attempts;
    await writeNote(state, jobId, { ...noNote, mark: markOf(body), uncounted, expired: job.interrupted });
    await ask(`reserve-job ${jobId}`, 'RESERVED');
    const delayMs = Math.max(0, (notBefore ?? 0) - clock.now());
    await ask(`release ${jobId} ${rank} ${secondsOf(delayMs)}`, 'RELEASED');
  }

  async function putOne(job: MovedJob): Promise<SendResult> {
    const { id } = job.message;
    try {
      await (job.death ? bury(job, job.death) : line(job));
      return { ok: true, id, duplicate: false };
    } catch (error) {
      return { ok: false, id, error: error as LongshoreError };
    }
  }

  async function nextDelayed(queue: string): Promise<MovedJob | null> {
    const { word, number: jobId, data } = await link.send('peek-delayed', state.tubeOf(queue));
    if (word === 'NOT_FOUND') return null;
    if (word !== 'FOUND') throw refusal('peeking', word);
    const stats = await link.jobStats(jobId);
    if (stats?.state !== 'delayed' || stats.leftSeconds > neverSeconds) return null;
    const body = textOf(data!);
    const note = stats.reserves > 0 ? await readNote(state, jobId, body) : null;
    const { attempt, interrupted } = countOf({ ...stats, reserves: stats.reserves + 1 }, note);
    const { id, job, priority } = factsOf(body, jobId);
    const { schedule, issuedAt, context } = envelopeOf(body);
    shown.set(id, jobId);
    // The server counts whole seconds; the envelope knows it exactly, unless the job was put off again later.
    const dueAt = clock.now() + stats.leftSeconds * 1_000;
    const isExact = typeof schedule === 'number' && Math.abs(schedule - dueAt) < 2_000;
    return {
      message: {
        ...{ id, job, queue, body, priority, group: null },
        notBefore: isExact ? schedule : dueAt,
        tenantId: context?.tenantId ?? null,
      },
      createdAt: issuedAt ?? clock.now() - stats.ageSeconds * 1_000,
      attempts: attempt - 1,
      interrupted,
      reports: [],
      progress: null,
      death: null,
    };
  }

  return {
    async delayed(queue) {
      const next = await nextDelayed(queue);
      return next ? [next] : [];
    },
    async removeDelayed(_, ids) {
      const gone: boolean[] = [];
      for (const id of ids) {
        const jobId = shown.get(id);
        shown.delete(id);
        if (jobId === undefined || (await link.jobStats(jobId))?.state !== 'delayed') gone.push(false);
        else gone.push((await link.send(`delete ${jobId}`)).word === 'DELETED');
      }
      return gone;
    },
    ...(state.keepsNotes && { put }),
  };

  async function put(jobs: readonly MovedJob[]): Promise<SendResult[]> {
    const results = new Map<MovedJob, SendResult>();
    const plain = jobs.filter(({ attempts, interrupted, death }) => attempts === 0 && !interrupted && !death);
    const sent = await enqueue(plain.map(({ message }) => message));
    for (const [i, job] of plain.entries()) results.set(job, sent[i]!);
    // Lists of dead letters come newest first, and the book of them is written oldest first.
    const [dead, alive] = [jobs.filter(({ death }) => death), jobs.filter(({ death }) => !death)];
    for (const job of [...alive, ...dead.toReversed()])
      if (!results.has(job)) results.set(job, await putOne(job));
    return jobs.map((job) => results.get(job)!);
  }
}

function envelopeOf(body: string): Partial<Envelope> {
  try {
    return (JSON.parse(body) as Partial<Envelope> | null) ?? {};
  } catch {
    return {}; // whoever runs it will refuse it
  }
}
