import type { JobStatus } from '../../../core/contract/outcome.ts';
import type { BackendStores, RecordStore, Retention } from '../../../core/contract/store.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import { askEach, keepersOf, missedBy, type OfSeveral } from '../../../core/routing/each.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { flag } from '../config/flags.ts';
import { duration } from '../config/values.ts';
import { type Command, defineCommand, someAway } from '../definition.ts';
import { usage } from '../errors.ts';
import { withProgress } from '../output/progress.ts';
import { count } from '../output/ui.ts';
import { type Listing, listed } from './perform.ts';
import { firstOf } from './select-jobs.ts';

/** Keeps all records of one kind: none is this old. */
const keepAllMs = 100 * 365 * 86_400_000;

const purge = defineCommand({
  path: 'purge',
  would: 'remove records',
  asks: ({ flags }) => !isOwn(flags) && !flags.dryRun,
  summary: 'remove records of jobs that ended long ago',
  about:
    'Workers do this by themselves, with the retention of the store. Without a flag this command uses that retention too. With one of the two ages it removes only that kind of record. It always removes expired idempotency keys.',
  flags: {
    olderThan: flag(
      '--older-than <duration>',
      'completed and cancelled jobs that ended at least this long ago',
      duration(),
    ),
    deadOlderThan: flag(
      '--dead-older-than <duration>',
      'dead letters that died at least this long ago',
      duration(),
    ),
    dryRun: flag('--dry-run', 'count only, remove nothing; needs one of the two above'),
  },
  examples: [
    'longshore purge',
    'longshore purge --older-than 7d --dry-run',
    'longshore purge --older-than 7d --dead-older-than 30d --yes',
  ],
  exits: { 1: `${someAway}, or not confirmed` },
  async run(input) {
    const { flags, session, io } = input;
    const { olderThan, deadOlderThan } = flags;
    const own = isOwn(flags);
    if (flags.dryRun && own) {
      throw usage(
        'A dry run cannot know the retention that the store has by itself. Add --older-than 7d or --dead-older-than 90d.',
      );
    }
    const keepers = keepersOf(await session.clients(), ({ stores }) => stores.records);
    const retention = { completedMs: olderThan ?? keepAllMs, deadMs: deadOlderThan ?? keepAllMs };
    const { answers, ...missed } = await askEach(
      keepers,
      async ({ app, stores }) =>
        own ? nothingEnded : countEnded(app, stores.records, retention, io.clock.now()),
      longestMs,
    );
    const counted = answers.map(({ answer }) => answer).reduce(sumOfEnded, nothingEnded);
    if (flags.dryRun) return dryRun(input, counted, missed);
    const many = counted.completed + counted.dead;
    return {
      many,
      question: own ? null : `Remove ${nearly(counted)}${count(many, 'record')} for good?`,
      async act() {
        const asked = answers.map(({ client }) => client);
        const done = await withProgress(input, 'purging', many, (bar) =>
          askEach(
            asked,
            ({ stores }) => removeAll(stores.records, own ? undefined : retention, bar.add),
            longestMs,
          ),
        );
        const removed = done.answers.reduce((sum, { answer }) => sum + answer, 0);
        const text = `Removed ${removed}, ended idempotency keys included.`;
        return listed(input, { dryRun: false, removed, ...missedBy(missed, done) }, text);
      },
    };
  },
});

async function removeAll(
  records: RecordStore,
  retention: Retention | undefined,
  tell: (count: number) => void,
): Promise<number> {
  for (let sum = 0; ; ) {
    const step = await records.purge(retention);
    if (step === 0) return sum;
    sum += step;
    tell(step);
  }
}

/** Whether the store's own retention is used. */
const isOwn = ({
  olderThan,
  deadOlderThan,
}: { readonly [Name in 'olderThan' | 'deadOlderThan']?: unknown }) =>
  olderThan === undefined && deadOlderThan === undefined;

interface Ended {
  readonly completed: number;
  readonly dead: number;
  /** Whether all records were counted. */
  readonly all: boolean;
  /** Whether all were counted, and no retention applies that only the store knows. */
  readonly exact: boolean;
}

const nothingEnded: Ended = { completed: 0, dead: 0, all: true, exact: true };

const sumOfEnded = (a: Ended, b: Ended): Ended => ({
  completed: a.completed + b.completed,
  dead: a.dead + b.dead,
  all: a.all && b.all,
  exact: a.exact && b.exact,
});

const nearly = ({ all, exact }: Ended): string => (exact ? '' : all ? 'about ' : 'at least about ');

function dryRun(input: Listing, ended: Ended, missed: OfSeveral) {
  const { completed, dead, exact } = ended;
  const text = `Would remove ${nearly(ended)}${completed} completed or cancelled and ${dead} dead records. Ended idempotency keys, which go too, are not counted.`;
  // `keys` is null because the stores cannot count keys without removing them.
  return listed(input, { dryRun: true, completed, dead, exact, keys: null, ...missed }, text);
}

/** Counting reads whole records, so it is limited. */
const mostCounted = 50_000;
const longestMs = 3_600_000;

async function countEnded(
  { jobs }: App,
  records: RecordStore,
  { completedMs, deadMs }: Retention,
  now: number,
): Promise<Ended> {
  let all = true;
  async function ended(statuses: readonly JobStatus[], keepMs: number): Promise<number> {
    if (keepMs === keepAllMs) return 0;
    let sum = 0;
    for (const status of statuses) {
      const pageOf = async (page: { readonly max: number }) => {
        const { records: some, next } = await records.page({ status, ...page });
        return { found: some, next };
      };
      const { found, next } = await firstOf(pageOf, mostCounted);
      if (next !== null || found.length === mostCounted) all = false;
      sum += found.filter(({ finishedAt }) => finishedAt !== null && finishedAt + keepMs <= now).length;
    }
    return sum;
  }
  const completed = await ended(['completed', 'cancelled'], completedMs);
  const dead = await ended(['failed', 'expired'], deadMs);
  // Jobs may have a retention of their own, and a store beside the queue keeps the records that the queue may still need.
  const ownTimes =
    records.writer !== undefined || [...jobs.values()].some(({ retention }) => retention !== null);
  return { completed, dead, all, exact: all && !ownTimes };
}

const migrate = defineCommand({
  path: 'migrate',
  summary: 'bring the tables of the backend and its store up to date',
  about:
    'Run it in a deployment, before the first worker starts. SQLite migrates whenever it is opened, so the command only opens it and prints the result. For dynamoStore() and tableStore() it creates a missing table. Does nothing for a backend without tables.',
  examples: ['longshore migrate'],
  async run({ session }) {
    const backend = await session.backend();
    const beside = await session.store();
    // An outbox also migrates its source.
    const own = await migrated('source' in backend ? (backend as Outbox) : (backend.stores ?? {}));
    const store = beside ? await migrated(beside) : null;
    const lines = [migratedText(backend.name, own)];
    if (store) lines.push(migratedText('Its store', store));
    return { data: { backend: backend.name, ...own, store }, text: lines.join('\n') };
  },
});

async function migrated(what: Pick<BackendStores, 'migrate'>) {
  if (!what.migrate) return { how: 'none', from: null, to: null };
  return { how: 'migrate', ...(await what.migrate()) };
}

function migratedText(name: string, { how, from, to }: Awaited<ReturnType<typeof migrated>>): string {
  if (how === 'none') return `${name} was opened. It has no tables to bring up to date.`;
  if (from === to) return `${name} is at version ${to}, nothing to do.`;
  return `${name} went from version ${from ?? 'none'} to ${to}.`;
}

export const maintenanceCommands: readonly Command[] = [purge, migrate];
