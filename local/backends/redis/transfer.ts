/** Hands waiting jobs over to another backend, and takes them from one; move.lua tells how they are held. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { SendResult } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import type { MovedJob, QueueTransfer } from '../../move/contract.ts';
import type { RedisState } from './index.ts';
import { type Found, heldOf, jobText, nextPlace } from './rows.ts';
import { scripts } from './scripts.ts';

/** A script may not run for long. */
const mostPerCall = 500;

export function redisTransfer(state: RedisState, maxBodyBytes: number): QueueTransfer {
  const run = (during: string, queue: string, what: string, args: readonly string[]): Promise<unknown> =>
    state.link.run(during, scripts.move, state.base(queue), [...state.common(), what, ...args]);

  async function read(queue: string, ids: readonly string[]): Promise<MovedJob[]> {
    const jobs: MovedJob[] = [];
    for (let from = 0; from < ids.length; from += mostPerCall) {
      const some = ids.slice(from, from + mostPerCall);
      const found = (await state.manage('reading', queue, 'whole', some)) as Found[];
      jobs.push(...found.flatMap((one, i) => heldOf(queue, some[i]!, one) ?? []));
    }
    return jobs;
  }

  /** Ids that another queue knows. */
  async function elsewhere(queue: string, ids: readonly string[]): Promise<Set<string>> {
    const others = (await state.queues()).filter((other) => other !== queue);
    const flags = await Promise.all(others.map((other) => state.manage('moving', other, 'known', ids)));
    return new Set(ids.filter((_, i) => (flags as string[]).some((flag) => flag[i] === '1')));
  }

  /** The answers for jobs of one queue. */
  async function store(queue: string, jobs: readonly MovedJob[]): Promise<SendResult[]> {
    const ids = jobs.map(({ message }) => message.id);
    const known = await elsewhere(queue, ids);
    const fresh = jobs.filter(({ message }) => !known.has(message.id));
    await state.know(queue);
    const answer = fresh.length > 0 ? await run('moving', queue, 'put', fresh.flatMap(putArguments)) : '';
    const flags = [...(answer as string)];
    return ids.map((id): SendResult => {
      const flag = known.has(id) ? '0' : flags.shift();
      return flag === 'f' ? { ok: false, id, error: full(queue) } : { ok: true, id, duplicate: flag === '0' };
    });
  }

  return {
    async hold(queue, max) {
      const ids = await run('holding', queue, 'hold', [`${Math.min(max, mostPerCall)}`]);
      return read(queue, ids as string[]);
    },
    async held(queue, max) {
      const ids = await run('listing', queue, 'held', [`${max}`]);
      return read(queue, ids as string[]);
    },
    async put(jobs) {
      const results: SendResult[] = jobs.map(({ message: { id, body } }) => {
        const error = tooLarge(body, maxBodyBytes);
        return error ? { ok: false, id, error } : { ok: true, id, duplicate: true };
      });
      const good = [...jobs.keys()].filter((i) => results[i]!.ok);
      for (const [queue, mine] of Map.groupBy(good, (i) => jobs[i]!.message.queue)) {
        for (let from = 0; from < mine.length; from += mostPerCall) {
          const places = mine.slice(from, from + mostPerCall);
          const stored = await store(
            queue,
            places.map((i) => jobs[i]!),
          );
          for (const [n, i] of places.entries()) results[i] = stored[n]!;
        }
      }
      return results;
    },
    async release(queue, ids) {
      let count = 0;
      for (let from = 0; from < ids.length; from += mostPerCall) {
        const args = [state.channel(queue), ...ids.slice(from, from + mostPerCall)];
        count += (await run('releasing', queue, 'release', args)) as number;
      }
      if (count > 0) state.wake();
      return count;
    },
    async remove(queue, ids) {
      let flags = '';
      for (let from = 0; from < ids.length; from += mostPerCall)
        flags += (await run('removing', queue, 'remove', ids.slice(from, from + mostPerCall))) as string;
      return ids.map((_, i) => flags[i] === '1');
    },
  };
}

/** The five of each job that `put` of move.lua takes. */
function putArguments(job: MovedJob): string[] {
  const { message, createdAt, attempts, interrupted, progress, death } = job;
  const readyAt = message.notBefore ?? createdAt;
  const text = jobText(message, nextPlace(message.priority), createdAt, readyAt);
  const known = progress ? JSON.stringify(progress) : '';
  const reports = job.reports.map((report) => JSON.stringify(report)).join(',');
  if (!death) {
    const head = `${attempts} ${interrupted ? 1 : 0} 0 ${readyAt}`;
    return [message.id, text, `${head}\n${known}\n${reports}`, '', ''];
  }
  const code = death.reason === 'expired' ? 'expired' : 'failed';
  const head = `${code} ${death.at} ${attempts} ${readyAt} ${death.reason}`;
  const kept = `${head}\n${JSON.stringify(death.error)}\n${known}\n${reports}\n${text}`;
  return [message.id, '', '', kept, `${death.at}`];
}

const full = (queue: string): LongshoreError =>
  new LongshoreError(
    'LIMIT',
    `Expected room for a dead letter, got a queue "${queue}" whose dead letters fill its budget. Raise deadBudget of redis(), or discard some.`,
  );
