import { slices } from '../../../core/base/slices.ts';
import type { DeadLetters, QueueAdmin, QueueStats, Replacement } from '../../../core/contract/admin.ts';
import { checkReplaced } from '../../../core/kit/body-limit.ts';
import { pageOf, positionIn } from '../../../core/kit/records/filter.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { deadLetterOf, peekedOf, readJobs, storedFactsOf, summaryOf, type Whole } from './rows.ts';
import type { RedisState } from './state.ts';
import { storedBody } from './stored-body.ts';
import { redisTransfer } from './transfer.ts';

type StatsAnswer = [
  ready: number,
  delayed: number,
  leased: number,
  dead: number,
  paused: number,
  oldest: string | null,
];

export function redisAdmin(state: RedisState): QueueAdmin & MovableAdmin {
  const { link } = state;

  async function statsOf(queue: string): Promise<QueueStats> {
    const answer = await state.manage('counting', queue, 'stats', []);
    const [ready, delayed, leased, dead, paused, oldest] = answer as StatsAnswer;
    const oldestReadyMs = oldest === null || oldest === undefined ? null : Number(oldest);
    return { queue, ready, delayed, leased, dead, paused: paused === 1, oldestReadyMs };
  }

  return {
    transfer: redisTransfer(state),
    diagnose: async (request) => (await import('./diagnose.ts')).redisDiagnosis(state, request),
    async stats(only) {
      const queues = only === undefined ? await state.queues() : [only];
      return Promise.all(queues.map(statsOf));
    },
    async peek(queue, max) {
      const ids = (await state.manage('peeking', queue, 'peek', [`${max}`])) as string[];
      return (await readJobs(state, queue, ids)).map(peekedOf);
    },
    async clear(queue, gone) {
      for (let total = 0; ; ) {
        const ids = (await state.manage('clearing', queue, 'clear', [])) as string[];
        if (ids.length === 0) return total;
        total += ids.length;
        await gone?.(ids);
      }
    },
    async probe() {
      await link.send('probing', ['SET', `${state.prefix}:probe`, '1', 'PX', '1000']);
    },
    async setPaused(queue, isPaused) {
      await state.register(queue);
      if (isPaused)
        return void (await link.send('pausing', ['HSET', `${state.base(queue)}:info`, 'paused', '1']));
      await link.send('resuming', ['HDEL', `${state.base(queue)}:info`, 'paused']);
      const channel = state.channel(queue);
      if (channel !== '') await link.send('resuming', ['PUBLISH', channel, '']);
      state.waiters.wake(queue);
    },
    deadLetters: redisDeadLetters(state),
  };
}

const mostPerCall = 1_000;
/** New texts are long. */
const mostTextsPerCall = 50;

/** Pages list the newest first. Dead letters of the same time are sorted by id, as in Redis, then by queue. */
interface Position {
  readonly diedAt: number;
  readonly id: string;
  readonly queue: string;
}

const bytesOf = ({ id, queue }: Position) => [Buffer.from(id), Buffer.from(queue)] as const;

function newestFirst(a: Position, b: Position): number {
  const [[idA, queueA], [idB, queueB]] = [bytesOf(a), bytesOf(b)];
  return b.diedAt - a.diedAt || Buffer.compare(idB, idA) || Buffer.compare(queueB, queueA);
}

const isDead = ({ status }: Whole): boolean => status === 'failed' || status === 'expired';

function redisDeadLetters(state: RedisState): DeadLetters {
  /** The dead letters after `after`, in the order of the pages. */
  async function positionsOf(queue: string, max: number, after: Position | null): Promise<Position[]> {
    const isIncluded = after !== null && newestFirst(after, { ...after, queue }) < 0;
    const from = after === null ? ['', '', ''] : [`${after.diedAt}`, after.id, isIncluded ? '1' : ''];
    const pairs = (await state.manage('listing', queue, 'dead', [`${max}`, ...from])) as string[];
    return pairs.flatMap((id, i) => (i % 2 === 0 ? { id, queue, diedAt: Number(pairs[i + 1]) } : []));
  }

  async function positionsIn(queue: string | undefined, max: number, after: Position | null) {
    const queues = queue === undefined ? await state.queues() : [queue];
    const all = await Promise.all(queues.map((one) => positionsOf(one, max, after)));
    return all.flat().sort(newestFirst).slice(0, max);
  }

  /** In the order of the positions. Leaves out dead letters that are gone by now or unreadable. */
  async function readAt(positions: readonly Position[], what: 'facts' | 'whole'): Promise<Whole[]> {
    const byQueue = [...Map.groupBy(positions, ({ queue }) => queue)];
    const read = await Promise.all(
      byQueue.map(([queue, mine]) =>
        readJobs(
          state,
          queue,
          mine.map(({ id }) => id),
          what,
        ),
      ),
    );
    const found = new Map(read.flat().map((job) => [`${job.queue} ${job.id}`, job]));
    return positions.flatMap(({ queue, id }) => found.get(`${queue} ${id}`) ?? []).filter(isDead);
  }

  /** Asks every queue, because an id does not name its queue. `argsOf` gives the arguments for each id. */
  async function inAll(
    during: string,
    action: string,
    parts: Iterable<readonly string[]>,
    argsOf: (queue: string, ids: readonly string[]) => Promise<readonly string[]>,
  ): Promise<number> {
    const queues = await state.queues();
    let total = 0;
    for (const some of parts) {
      const counts = queues.map(async (queue) => {
        const args = await argsOf(queue, some);
        if (args.length === 0) return 0;
        return (await state.manage(during, queue, action, [state.channel(queue), ...args])) as number;
      });
      for (const count of await Promise.all(counts)) total += count;
    }
    return total;
  }

  /** A new text keeps the job and the tenant, so these dead letters are read first. */
  async function textsOf(
    queue: string,
    ids: readonly string[],
    replaced: ReadonlyMap<string, Replacement>,
  ): Promise<string[]> {
    const old = await readJobs(
      state,
      queue,
      ids.filter((id) => replaced.has(id)),
    );
    const jobs = new Map(old.map((job) => [job.id, job]));
    return ids.flatMap((id) => {
      const fresh = replaced.get(id);
      if (!fresh) return [id, '', ''];
      const known = jobs.get(id);
      if (!known) return [];
      const { job, tenantId } = known;
      return [
        id,
        storedFactsOf(job, tenantId, fresh.facts),
        storedBody({ id, queue, job, body: fresh.body }),
      ];
    });
  }

  return {
    async list({ queue, max = 100 }) {
      return (await readAt(await positionsIn(queue, max, null), 'whole')).map(deadLetterOf);
    },
    async page({ queue, max = 100, after }) {
      const [diedAt, id, name] =
        after === undefined ? [0, '', ''] : positionIn(after, 'number', 'string', 'string');
      if (max < 1) return { letters: [], next: null };
      const position = after === undefined ? null : { diedAt, id, queue: name };
      const all = await positionsIn(queue, max + 1, position);
      const { shown, next } = pageOf(all, max, (last) => [last.diedAt, last.id, last.queue]);
      return { letters: (await readAt(shown, 'facts')).map(summaryOf), next };
    },
    async get(id) {
      const queues = await state.queues();
      const found = await Promise.all(queues.map((queue) => readJobs(state, queue, [id], 'whole')));
      const dead = found.flat().find(isDead);
      return dead ? deadLetterOf(dead) : null;
    },
    async retry(ids, replaced = new Map()) {
      checkReplaced(replaced, state.maxBodyBytes);
      const perCall = replaced.size > 0 ? mostTextsPerCall : mostPerCall;
      const argsOf = (queue: string, some: readonly string[]) => textsOf(queue, some, replaced);
      const count = await inAll('retrying', 'retry', slices([...new Set(ids)], perCall), argsOf);
      if (count > 0) state.waiters.wake();
      return count;
    },
    discard: (ids) =>
      inAll('discarding', 'discard', slices([...new Set(ids)], mostPerCall), async (_, some) => some),
  };
}
