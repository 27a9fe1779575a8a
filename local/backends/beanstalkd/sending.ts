/** Puts messages. A batch is one write, and each message gets its own answer. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { slices } from '../../../core/base/slices.ts';
import type { JobSender, OutgoingMessage, SendResult } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { infoOf, rankOf, readyAtOf, secondsOf } from './job.ts';
import { refusal, textOf } from './replies.ts';
import type { BeanstalkdState } from './state.ts';

/** At most this many puts are sent before their answers are awaited. */
const mostAtOnce = 1_000;

export function createEnqueue(state: BeanstalkdState): JobSender['enqueue'] {
  const { link, clock, ageingMs, ttrMs, maxBodyBytes } = state;

  const ranks = createFairRanks(state);

  function putOf({ queue, group, body, priority, notBefore }: OutgoingMessage, now: number): string {
    const readyAt = Math.max(now, notBefore ?? now);
    // A delayed job takes no turn: jobs that are sent before it is due would rank after it.
    const countsFrom =
      group === null || readyAt > now ? readyAt : ranks.next(state.tubeOf(queue), group, now);
    const rank = rankOf(countsFrom, priority, ageingMs);
    const bytes = Buffer.byteLength(body);
    return `put ${rank} ${secondsOf(readyAt - now)} ${secondsOf(ttrMs)} ${bytes}\r\n${body}`;
  }

  async function putAll(messages: readonly OutgoingMessage[]): Promise<SendResult[]> {
    const grouped = messages.filter(({ group }) => group !== null);
    if (grouped.length > 0) await ranks.look(new Set(grouped.map(({ queue }) => state.tubeOf(queue))));
    const connection = await link.connection();
    const now = clock.now();
    const results: (SendResult | null)[] = [];
    const commands: string[] = [];
    /** For each command the index of its message; -1 = it only selects the tube. */
    const indexes: number[] = [];
    for (const [i, message] of messages.entries()) {
      const { id, queue, body } = message;
      const error = tooLarge(body, maxBodyBytes);
      results.push(error && { ok: false, id, error });
      if (error) continue;
      const use = link.use(connection, state.tubeOf(queue));
      if (use !== null) commands.push(use);
      if (use !== null) indexes.push(-1);
      commands.push(putOf(message, now));
      indexes.push(i);
    }
    const sending = connection.sendAll(commands);
    connection.flush();
    const replies = await sending;
    for (const [n, { word, number }] of replies.entries()) {
      const i = indexes[n]!;
      if (i < 0) continue;
      const { id } = messages[i]!;
      if (word === 'INSERTED') results[i] = { ok: true, id, duplicate: false };
      else {
        // The server had no memory to make it ready and buried it. It must not stay buried.
        if (word === 'BURIED') await connection.send(`delete ${number}`).catch(() => {});
        const error = refusal('putting a job', word === 'BURIED' ? 'OUT_OF_MEMORY' : word);
        results[i] = { ok: false, id, error };
      }
    }
    const cause = connection.reason;
    return results.map((result, i) => {
      if (result) return result;
      const text = `The connection to beanstalkd was lost before it confirmed the message, which may be in the queue: ${cause?.message}.`;
      return { ok: false, id: messages[i]!.id, error: new LongshoreError('BACKEND', text, { cause }) };
    });
  }

  return async (messages) => {
    for (const { queue } of messages) state.tubeOf(queue); // throws for a wrong name before anything is sent
    const results: SendResult[] = [];
    for (const some of slices(messages, mostAtOnce)) results.push(...(await putAll(some)));
    return results;
  };
}

/** Puts a job that no worker sees, and deletes it. */
export async function probe({ link }: BeanstalkdState): Promise<void> {
  const jobId = await link.put('longshore.probe', [0, 60, 1], '');
  await link.send(`delete ${jobId}`, { tube: 'default' }); // the server deletes a tube that no connection uses
}

/** Ranks count seconds. */
const turnMs = 1_000;
const lookEveryMs = 1_000;
/** Groups per tube. Above this the oldest are forgotten, and their next job ranks as if no job of the group waited. */
const mostGroups = 10_000;
const mostTubes = 1_000;

interface Tube {
  lookedAt: number;
  /** Since when its next job counts as ready, in epoch ms. */
  headAt: number;
  /** When the last job of each group counts as ready. */
  readonly lastAt: Map<string, number>;
  looking: Promise<void>;
}

/**
 * Fair shares between groups. beanstalkd knows no groups, so ranks implement start-time fair queueing: a job of a group ranks a second
 * after the previous job of the group, and not before the next job of the tube. So a burst takes one place per second, next to the jobs
 * of other groups.
 *
 * Each process knows only the ranks that it has sent, so each sender gives a group a turn per second.
 */
function createFairRanks({ link, clock, ageingMs }: Pick<BeanstalkdState, 'link' | 'clock' | 'ageingMs'>) {
  const tubes = new Map<string, Tube>();

  /** Since when the next job of a tube counts as ready, and how many jobs are ready. `null` = none. */
  async function headOf(tube: string): Promise<{ readyAt: number; ready: number } | null> {
    const [stats, next] = await Promise.all([link.tubeStats(tube), link.peek('peek-ready', tube)]);
    const job = next && (await link.jobStats(next.jobId));
    if (!stats || job?.state !== 'ready') return null;
    const level = infoOf(textOf(next!.data), next!.jobId).priority;
    return { readyAt: readyAtOf(job.pri, level, ageingMs) ?? 0, ready: stats.ready };
  }

  async function lookAt(name: string, tube: Tube): Promise<void> {
    const head = await headOf(name);
    const { lastAt } = tube;
    tube.headAt = head?.readyAt ?? 0;
    if (!head) return lastAt.clear(); // no job waits, so all groups start again
    // A group cannot be further ahead than if all waiting jobs were its own. Workers may have emptied the tube meanwhile.
    const mostAt = head.readyAt + head.ready * turnMs;
    for (const [group, at] of lastAt) {
      if (at < head.readyAt) lastAt.delete(group);
      else if (at > mostAt) lastAt.set(group, mostAt);
    }
  }

  /** Asks the server at most once a second. Errors are ignored, because turns are approximate. */
  function look(name: string): Promise<void> {
    const now = clock.now();
    const tube = tubes.get(name) ?? {
      lookedAt: Number.NEGATIVE_INFINITY,
      headAt: 0,
      lastAt: new Map<string, number>(),
      looking: Promise.resolve(),
    };
    if (Math.abs(now - tube.lookedAt) >= lookEveryMs) {
      tube.lookedAt = now;
      tube.looking = lookAt(name, tube).catch(() => {});
    }
    if (tubes.size >= mostTubes && !tubes.has(name)) tubes.clear();
    tubes.set(name, tube);
    return tube.looking;
  }

  return {
    /** Call it before `next`, with the tubes of new jobs that have a group. */
    async look(names: ReadonlySet<string>): Promise<void> {
      await Promise.all([...names].map(look));
    },

    /** When a new job of the group counts as ready, in epoch ms. */
    next(name: string, group: string, now: number): number {
      const tube = tubes.get(name);
      if (!tube) return now;
      const { headAt, lastAt } = tube;
      const at = Math.max(now, headAt, (lastAt.get(group) ?? 0) + turnMs);
      if (lastAt.size >= mostGroups && !lastAt.has(group)) lastAt.delete(lastAt.keys().next().value!);
      lastAt.set(group, at);
      return at;
    },
  };
}
