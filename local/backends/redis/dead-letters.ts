import { slices } from '../../../core/base/slices.ts';
import type { DeadLetters, Replacement } from '../../../core/contract/admin.ts';
import { checkReplaced } from '../../../core/kit/body-limit.ts';
import { pageOf, positionIn } from '../../../core/kit/records/filter.ts';
import { readJobs } from './read-jobs.ts';
import { deadLetterOf, storedFactsOf, summaryOf, type Whole } from './rows.ts';
import type { RedisState } from './state.ts';

const mostPerCall = 1_000;
/** New texts are long. */
const mostTextsPerCall = 50;

/** Newest first; of the same time by id, as Redis orders them, and then by queue. */
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

export function redisDeadLetters(state: RedisState): DeadLetters {
  /** Those behind `after` in the order of the pages. */
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

  /** In the order of the positions. Those that are gone meanwhile, and those that cannot be read, are left out. */
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

  /** In every queue: an id does not say which one has the dead letter. `argsOf` gives what stands for each id. */
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

  /** Job and tenant stay, and are in the text: so those with a new one are read first. */
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
    const known = new Map(old.map((job) => [job.id, job]));
    return ids.flatMap((id) => {
      const fresh = replaced.get(id);
      if (!fresh) return [id, '', ''];
      const job = known.get(id);
      return job ? [id, storedFactsOf(job.job, job.tenantId, fresh.facts), fresh.body] : [];
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
