import { slices } from '../../../core/base/slices.ts';
import type { JobStatus } from '../../../core/contract/outcome.ts';
import type {
  CancelResult,
  JobRecord,
  RecordFilter,
  RecordPage,
  RecordStore,
} from '../../../core/contract/store.ts';
import { cursorOf, matches, positionIn, wrongCursor } from '../../../core/kit/records/filter.ts';
import type { EndWatches } from '../shared/end-watches.ts';
import { groupedReads } from '../shared/grouped-reads.ts';
import {
  arrivalOf,
  type Found,
  idOf,
  leasedId,
  publicRecord,
  readJobs,
  type Whole,
  wholeOf,
} from './rows.ts';
import { purgeScriptStores } from './script-stores.ts';
import type { RedisState } from './state.ts';
import type { RedisTexts } from './texts.ts';

export function redisRecords(state: RedisState, texts: RedisTexts, ends: EndWatches | null): RecordStore {
  const page = createPages(state);

  /** Asks every queue, because an id does not name its queue. */
  async function everywhere(during: string, action: string, args: readonly string[]): Promise<unknown[]> {
    const queues = await state.queues();
    return Promise.all(queues.map((queue) => state.manage(during, queue, action, args)));
  }

  /** Returns a function that finds one of them. It throws for a job that cannot be read. */
  async function findAll(
    ids: readonly string[],
    what: 'facts' | 'whole',
  ): Promise<(id: string) => Whole | null> {
    const places = new Map<string, { readonly queue: string; readonly found: Found }>();
    for (const queue of await state.queues()) {
      const asked = ids.filter((id) => !places.has(id));
      if (asked.length === 0) break;
      const answers = (await state.manage('reading', queue, what, asked)) as Found[];
      for (const [i, found] of answers.entries())
        if (found[0] != null || found[1] != null) places.set(asked[i]!, { queue, found });
    }
    return (id) => {
      const place = places.get(id);
      return place ? wholeOf(place.queue, id, place.found) : null;
    };
  }

  const factsOf = groupedReads((ids) => findAll(ids, 'facts'));

  return {
    async get(id) {
      const whole = await factsOf(id);
      return whole && publicRecord(whole);
    },
    page,
    body: async (id) => (await findAll([id], 'whole'))(id)?.body || null,
    async progress(id, token, progress) {
      const answers = await everywhere('writing progress', 'progress', [id, token, JSON.stringify(progress)]);
      return answers.includes(1);
    },
    async cancel(id) {
      const queues = await state.queues();
      const cancelIn = (queue: string) =>
        state.manage('cancelling', queue, 'cancel', [id, state.channel(queue)]) as Promise<CancelResult>;
      const answers = await Promise.all(queues.map(cancelIn));
      return answers.find((answer) => answer !== 'unknown') ?? 'unknown';
    },
    ...(ends && { watchEnd: ends.watch }),
    async cancelRequested(ids) {
      if (ids.length === 0) return [];
      return ((await everywhere('reading', 'cancelRequested', ids)) as string[][]).flat();
    },
    async purge(olderThan) {
      const { completedMs, deadMs } = olderThan ?? state.retention;
      const longer = [state.retention.completedMs - completedMs, state.retention.deadMs - deadMs];
      const counts = await Promise.all([
        everywhere('purging', 'purge', [completedMs, deadMs, ...longer].map(String)),
        purgeScriptStores(state),
        texts.purgeEnded(Math.floor(state.clock.now())),
      ]);
      return (counts.flat() as number[]).reduce((sum, count) => sum + count, 0);
    },
  };
}

type RecordQuery = RecordFilter & { readonly after?: string };

/** The sorted sets of a queue, and how to read an id from a member of each. */
const sets = {
  ready: idOf,
  delayed: idOf,
  lined: idOf,
  leases: leasedId,
  done: (id: string) => id,
  kept: (id: string) => id,
  dead: (id: string) => id,
} as const;
type SetName = keyof typeof sets;
const allSets = Object.keys(sets) as SetName[];
const waiting: readonly SetName[] = ['ready', 'delayed', 'lined'];
const setsOf: Readonly<Record<JobStatus, readonly SetName[]>> = {
  pending: waiting,
  retrying: waiting,
  processing: ['leases'],
  completed: ['done', 'kept'],
  cancelled: ['done', 'kept'],
  failed: ['dead'],
  expired: ['dead'],
};

/** Limits per page: members of sets whose members show the order, and jobs read. `fewest…`: at least this many per stretch. */
const mostMembers = 5_000;
const fewestMembers = 200;
const mostRead = 1_000;
const fewestRead = 50;
const readAtOnce = 200;
/** A script reads each text with its body, and blocks the server meanwhile. */
const searchedAtOnce = 100;
/** Rounds of stretches per page. */
const mostRounds = 2;

/** Sorts before every job. */
const start = '~';

/** A stretch begins after this member. All its jobs that come before `bound` have been listed. */
type Position = readonly [score: string, member: string, bound: string];
type Positions = Readonly<Record<string, Position>>;

/** How far the list has come. Sets without a position have been listed up to `bound`. */
interface Progress {
  readonly bound: string;
  readonly positions: Positions;
}

interface Candidate {
  readonly queue: string;
  readonly id: string;
  /** Orders jobs by creation. */
  readonly key: string;
  /** `null` = not read yet. */
  readonly job: Whole | null;
}

interface Stretch {
  readonly name: string;
  readonly candidates: readonly Candidate[];
  /** Where the next stretch begins; `null` = this is the last one. */
  readonly next: Position | null;
}

const newestFirst = (a: Candidate, b: Candidate): number => (a.key < b.key ? 1 : -1);

/**
 * Lists records page by page, newest first. No set is sorted by creation, and one more set would slow every job. So a page reads a
 * stretch from the end of each set, where most of the newest jobs are, and sorts these jobs. When a stretch is used up, the next one of
 * its set follows. Sets that fit into one stretch are listed in order, even if jobs move meanwhile. In longer sets, jobs of another
 * priority and retried jobs may come a little late.
 */
function createPages(state: RedisState): (query: RecordQuery) => Promise<RecordPage> {
  /** How many members of a set come before the stretch. */
  async function startOf(key: string, [score, member]: Position): Promise<number> {
    const rank = (await state.link.send('listing', ['ZREVRANK', key, member])) as number | null;
    if (rank !== null) return rank + 1;
    return (await state.link.send('listing', ['ZCOUNT', key, `(${score}`, '+inf'])) as number;
  }

  async function stretchOf(
    queue: string,
    set: SetName,
    { most, filter, progress }: { most: number; filter: RecordFilter; progress: Progress },
  ): Promise<Stretch> {
    const name = `${set}:${queue}`;
    const position = progress.positions[name];
    const key = `${state.base(queue)}:${set}`;
    const from = position ? await startOf(key, position) : 0;
    const range = ['ZRANGE', key, `${from}`, `${from + most - 1}`, 'REV', 'WITHSCORES'];
    const pairs = (await state.link.send('listing', range)) as string[];
    const members = pairs.filter((_, i) => i % 2 === 0);
    const ids = members.map(sets[set]);
    const all = waiting.includes(set)
      ? members.map((member, i) => ({ queue, id: ids[i]!, key: arrivalOf(member) + ids[i]!, job: null }))
      : await candidatesOf(queue, ids);
    const bound = position?.[2] ?? progress.bound;
    const { idPrefix = '' } = filter;
    const here = all.filter(({ key, id }) => key < bound && id.startsWith(idPrefix));
    const candidates = waiting.includes(set) ? await having(queue, piecesOf(filter), here) : here;
    const next = members.length < most ? null : ([pairs.at(-1)!, members.at(-1)!, start] as const);
    return { name, candidates, next };
  }

  /** Every retrying job has a state. If few jobs of the queue have one, only these are read. `null` = too many. */
  async function fewWithState(queue: string, { bound }: Progress): Promise<Stretch | null> {
    const key = `${state.base(queue)}:states`;
    if (Number(await state.link.send('listing', ['HLEN', key])) > mostRead) return null;
    const all = await candidatesOf(queue, (await state.link.send('listing', ['HKEYS', key])) as string[]);
    return { name: `states:${queue}`, candidates: all.filter((one) => one.key < bound), next: null };
  }

  /** Keeps the jobs that may match, so that far fewer are read. */
  async function having(
    queue: string,
    pieces: readonly string[],
    all: readonly Candidate[],
  ): Promise<readonly Candidate[]> {
    if (pieces.length === 0) return all;
    const asking = [...slices(all, searchedAtOnce)].map((some) =>
      state.manage('listing', queue, 'having', [`${pieces.length}`, ...pieces, ...some.map(({ id }) => id)]),
    );
    const ids = new Set((await Promise.all(asking)).flat());
    return all.filter(({ id }) => ids.has(id));
  }

  async function candidatesOf(queue: string, ids: readonly string[]): Promise<Candidate[]> {
    const jobs = await Promise.all([...slices(ids, readAtOnce)].map((some) => readJobs(state, queue, some)));
    return jobs.flat().map((job) => ({ queue, id: job.id, key: job.arrival + job.id, job }));
  }

  /** Reads the jobs of the candidates, and leaves out jobs that are gone. */
  async function readAll(candidates: readonly Candidate[]): Promise<Candidate[]> {
    const unread = Map.groupBy(candidates, ({ queue, job }) => (job ? null : queue));
    const read = [...unread].map(([queue, mine]) =>
      queue === null
        ? mine
        : candidatesOf(
            queue,
            mine.map(({ id }) => id),
          ),
    );
    return (await Promise.all(read)).flat().sort(newestFirst);
  }

  /** Reads one stretch of each set. */
  async function stretchesOf(filter: RecordQuery, progress: Progress): Promise<Stretch[]> {
    const queues = filter.queue === undefined ? await state.queues() : [filter.queue];
    const names = filter.status === undefined ? allSets : setsOf[filter.status];
    const ordered = queues.length * names.filter((name) => waiting.includes(name)).length;
    const others = queues.length * names.length - ordered;
    const inOrder = Math.max(fewestMembers, Math.floor(mostMembers / ordered));
    const toRead = Math.max(fewestRead, Math.floor(mostRead / others));
    const most = (name: SetName) => (waiting.includes(name) ? inOrder : toRead);
    const ofQueue = async (queue: string): Promise<Stretch[]> => {
      const few = filter.status === 'retrying' ? await fewWithState(queue, progress) : null;
      if (few) return [few];
      return Promise.all(names.map((name) => stretchOf(queue, name, { most: most(name), filter, progress })));
    };
    return (await Promise.all(queues.map(ofQueue))).flat();
  }

  return async function page({ after, ...filter }): Promise<RecordPage> {
    const { max = 100 } = filter;
    const records: JobRecord[] = [];
    if (max < 1) return { records, next: null };
    let progress = after === undefined ? { bound: start, positions: {} } : progressIn(after);
    for (let read = 0, round = 1; ; round++) {
      const stretches = await stretchesOf(filter, progress);
      const { candidates, used } = together(stretches);
      for (const some of slices(candidates, readAtOnce)) {
        for (const { job, key } of await readAll(some)) {
          read++;
          const record = publicRecord(job!);
          if (matches(record, filter)) records.push(record);
          if (records.length === max || read === mostRead)
            return { records, next: cursorAt(listedTo(progress, key)) };
        }
      }
      if (used.length === 0) return { records, next: null };
      progress = listedTo(progress, candidates.at(-1)?.key ?? progress.bound);
      const further = used.map(({ name, next }) => [name, next!] as const);
      progress = { ...progress, positions: { ...progress.positions, ...Object.fromEntries(further) } };
      if (round === mostRounds) return { records, next: cursorAt(progress) };
    }
  };
}

/** The jobs up to the end of the first stretch that has a next one, in order; and the stretches that these jobs use up. */
function together(stretches: readonly Stretch[]): { candidates: Candidate[]; used: Stretch[] } {
  const endOf = ({ candidates }: Stretch): string =>
    candidates.reduce((end, { key }) => (key < end ? key : end), start);
  const open = stretches.filter(({ next }) => next);
  const ends = open.map(endOf);
  const end = ends.reduce((last, one) => (one > last ? one : last), '');
  // A job that moved during the read may be in two sets.
  const byId = new Map(
    stretches.flatMap(({ candidates }) => candidates).map((one) => [`${one.queue} ${one.id}`, one]),
  );
  const candidates = [...byId.values()].filter(({ key }) => key >= end).sort(newestFirst);
  return { candidates, used: open.filter((_, i) => ends[i] === end) };
}

/** Parts that the text of every matching job contains. */
function piecesOf({ job, tenantId, idempotencyKey, schedule }: RecordFilter): string[] {
  const pieces = [job, tenantId].flatMap((text) => (text === undefined ? [] : JSON.stringify(text)));
  for (const [name, text] of Object.entries({ idempotencyKey, schedule }))
    if (text !== undefined) pieces.push(`"${name}":${JSON.stringify(text)}`);
  return pieces;
}

const earlier = (a: string, b: string): string => (a < b ? a : b);

function listedTo({ bound, positions }: Progress, key: string): Progress {
  const entries = Object.entries(positions).map(
    ([name, [score, member, own]]) => [name, [score, member, earlier(own, key)]] as const,
  );
  return { bound: earlier(bound, key), positions: Object.fromEntries(entries) };
}

const cursorAt = ({ bound, positions }: Progress): string => cursorOf(bound, JSON.stringify(positions));

function progressIn(cursor: string): Progress {
  const [bound, text] = positionIn(cursor, 'string', 'string');
  const isPosition = (one: unknown): boolean =>
    Array.isArray(one) &&
    one.length === 3 &&
    one.every((part) => typeof part === 'string') &&
    /^-?\d[\d.]*(e[+-]?\d+)?$/.test(String(one[0]));
  try {
    const positions = JSON.parse(text) as Positions;
    if (Object.values(positions).every(isPosition)) return { bound, positions };
  } catch {} // refused below
  throw wrongCursor(cursor);
}
