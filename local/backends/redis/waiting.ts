import type { PendingJobs, WaitingChange } from '../../../core/contract/admin.ts';
import { checkBody } from '../../../core/kit/body-limit.ts';
import { readJobs, storedFactsOf } from './rows.ts';
import { flagsOf, perQueue, type RedisState } from './state.ts';
import { storedBody } from './stored-body.ts';

const mostPerCall = 1_000;

export function redisWaiting(state: RedisState): PendingJobs {
  const { clock } = state;

  async function changeIn(
    queue: string,
    ids: readonly string[],
    { notBefore, priority, body = '', facts, expectedBody = '' }: WaitingChange,
  ): Promise<boolean[]> {
    let texts = ['', '', '', '']; // second line and body of the new text, and the expected body as this release and 0.1 store it
    if (body !== '' || expectedBody !== '') {
      // The new text keeps the job and the tenant, so these are read first.
      const [known] = await readJobs(state, queue, ids);
      if (!known) return [false];
      const { id, job, tenantId } = known;
      const stored = (text: string) => storedBody({ id, queue, job, body: text });
      const fresh = body === '' ? ['', ''] : [storedFactsOf(job, tenantId, facts), stored(body)];
      texts = [...fresh, stored(expectedBody), expectedBody];
    }
    const waitMs = notBefore === undefined ? '' : `${Math.max(0, Math.ceil((notBefore ?? 0) - clock.now()))}`;
    const args = [state.channel(queue), waitMs, `${priority ?? ''}`, ...texts];
    const flags = await state.manage('changing waiting jobs', queue, 'change', [...args, ...ids]);
    state.waiters.wake(queue);
    return flagsOf(flags);
  }

  return {
    async change(jobs, change) {
      checkBody(change.body, state.maxBodyBytes);
      const changeSome = (queue: string, some: typeof jobs) =>
        changeIn(
          queue,
          some.map(({ id }) => id),
          change,
        );
      return perQueue(jobs, ({ queue }) => queue, mostPerCall, changeSome);
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
