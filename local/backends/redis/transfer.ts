/** Moves waiting jobs to and from another backend. transfer.lua describes how they are held. */

import { LongshoreError } from '../../../core/base/errors.ts';
import { slices } from '../../../core/base/slices.ts';
import type { SendResult } from '../../../core/contract/queue.ts';
import { tooLarge } from '../../../core/kit/body-limit.ts';
import { type MovedJob, positionOfMoved, type QueueTransfer } from '../../move/contract.ts';
import { scripts } from './connection.ts';
import { type Found, heldOf, jobText, nextSortKey } from './rows.ts';
import { flagsOf, knownElsewhere, type RedisState } from './state.ts';

const mostPerCall = 500;

export function redisTransfer(state: RedisState): QueueTransfer {
  const run = (during: string, queue: string, action: string, args: readonly string[]): Promise<unknown> =>
    state.link.run(during, scripts.transfer, state.base(queue), [...state.common(), action, ...args]);

  async function read(queue: string, ids: readonly string[]): Promise<MovedJob[]> {
    const jobs: MovedJob[] = [];
    for (const some of slices(ids, mostPerCall)) {
      const found = (await state.manage('reading', queue, 'whole', some)) as Found[];
      jobs.push(...found.flatMap((one, i) => heldOf(queue, some[i]!, one) ?? []));
    }
    return jobs;
  }

  /** Stores jobs of one queue, and returns a result for each. */
  async function store(queue: string, jobs: readonly MovedJob[]): Promise<SendResult[]> {
    const ids = jobs.map(({ message }) => message.id);
    const known = await knownElsewhere(state, queue, ids);
    const unknown = jobs.filter(({ message }) => !known.has(message.id));
    await state.register(queue);
    const now = state.clock.now();
    const putArgs = (job: MovedJob) => putArguments(job, now);
    const answer = unknown.length > 0 ? await run('moving', queue, 'put', unknown.flatMap(putArgs)) : '';
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
        const error = tooLarge(body, state.maxBodyBytes);
        return error ? { ok: false, id, error } : { ok: true, id, duplicate: true };
      });
      const good = [...jobs.keys()].filter((i) => results[i]!.ok);
      for (const [queue, mine] of Map.groupBy(good, (i) => jobs[i]!.message.queue)) {
        for (const indexes of slices(mine, mostPerCall)) {
          const some = indexes.map((i) => jobs[i]!);
          const stored = await store(queue, some);
          for (const [n, i] of indexes.entries()) results[i] = stored[n]!;
        }
      }
      return results;
    },
    async release(queue, ids) {
      let count = 0;
      for (const some of slices(ids, mostPerCall))
        count += (await run('releasing', queue, 'release', [state.channel(queue), ...some])) as number;
      if (count > 0) state.waiters.wake(queue);
      return count;
    },
    async remove(queue, ids) {
      const gone: boolean[] = [];
      for (const some of slices(ids, mostPerCall))
        gone.push(...flagsOf(await run('removing', queue, 'remove', [state.channel(queue), ...some])));
      state.waiters.wake(queue); // another job of a group may have become the head
      return gone;
    },
  };
}

/** The six arguments per job of `put` in transfer.lua. */
function putArguments(job: MovedJob, now: number): string[] {
  const { message, createdAt, attempts, interrupted, progress, death } = job;
  const readyAt = message.notBefore ?? createdAt;
  const text = jobText(message, nextSortKey(message.priority), createdAt, readyAt);
  const known = progress ? JSON.stringify(progress) : '';
  const reports = job.reports.map((report) => JSON.stringify(report)).join(',');
  if (!death) {
    const head = `${attempts} ${interrupted ? 1 : 0} 0 ${readyAt}`;
    return [message.id, text, `${head}\n${known}\n${reports}`, `${positionOfMoved(job, now) ?? 0}`, '', ''];
  }
  const code = death.reason === 'expired' ? 'expired' : 'failed';
  const head = `${code} ${death.at} ${attempts} ${readyAt} ${death.reason}`;
  const kept = `${head}\n${JSON.stringify(death.error)}\n${known}\n${reports}\n${text}`;
  return [message.id, '', '', '', kept, `${death.at}`];
}

const full = (queue: string): LongshoreError =>
  new LongshoreError(
    'LIMIT',
    `The dead letters of queue "${queue}" fill its budget, so no more can be stored. Raise deadBudget of redis(), or discard some.`,
  );
