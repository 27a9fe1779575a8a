import { slices } from '../../../core/base/slices.ts';
import type { PendingJobs, WaitingChange } from '../../../core/contract/admin.ts';
import { checkBody } from '../../../core/kit/body-limit.ts';
import { readJobs, storedFactsOf } from './rows.ts';
import type { RedisState } from './state.ts';

const mostPerCall = 1_000;

export function redisWaiting(state: RedisState): PendingJobs {
  const { clock } = state;

  async function changeIn(
    queue: string,
    ids: readonly string[],
    { notBefore, priority, body = '', facts, expectedBody = '' }: WaitingChange,
  ): Promise<string> {
    let names = ''; // the second line of the new text; '' = body and facts stay
    if (body !== '') {
      // Job and tenant stay, and are in the text: so they are read first.
      const [known] = await readJobs(state, queue, ids);
      if (!known) return '0';
      names = storedFactsOf(known.job, known.tenantId, facts);
    }
    const waitMs = notBefore === undefined ? '' : `${Math.max(0, Math.ceil((notBefore ?? 0) - clock.now()))}`;
    const args = [state.channel(queue), waitMs, `${priority ?? ''}`, names, body, expectedBody];
    let flags = '';
    for (const some of slices(ids, mostPerCall))
      flags += (await state.manage('changing waiting jobs', queue, 'change', [...args, ...some])) as string;
    state.waiters.wake(queue);
    return flags;
  }

  return {
    async change(jobs, change) {
      checkBody(change.body, state.maxBodyBytes);
      const answers: boolean[] = new Array(jobs.length);
      const byQueue = [...Map.groupBy(jobs.keys(), (i) => jobs[i]!.queue)];
      const changeSome = async ([queue, mine]: (typeof byQueue)[number]): Promise<void> => {
        const ids = mine.map((i) => jobs[i]!.id);
        const flags = await changeIn(queue, ids, change);
        for (const [n, i] of mine.entries()) answers[i] = flags[n] === '1';
      };
      await Promise.all(byQueue.map(changeSome));
      return answers;
    },
    async remove({ queue, id }) {
      return (await state.manage('removing a job', queue, 'remove', [id, state.channel(queue)])) === 1;
    },
    async read({ queue, id }) {
      const [known] = await readJobs(state, queue, [id], 'whole');
      return known && (known.status === 'pending' || known.status === 'retrying') ? known.body : null;
    },
  };
}
