import type { JobStatus } from '../../../core/contract/outcome.ts';
import type { BackendStores, RecordStore, Retention } from '../../../core/contract/store.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import type { Outbox } from '../../outbox/outbox.ts';
import { flag } from '../config/flags.ts';
import { duration } from '../config/values.ts';
import { type Command, defineCommand } from '../definition.ts';
import { usage } from '../errors.ts';
import { withProgress } from '../output/progress.ts';
import { count } from '../output/ui.ts';
import { firstJobs } from './select-jobs.ts';

/** Keeps all records of one kind: none is this old. */
const keepAllMs = 100 * 365 * 86_400_000;

const purge = defineCommand({
  path: 'purge',
  backends: 'each',
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
  async run(input) {
    const { flags, session, io } = input;
    const { olderThan, deadOlderThan } = flags;
    const own = isOwn(flags);
    if (flags.dryRun && own) {
      throw usage(
        'A dry run cannot know the retention that the store has by itself. Add --older-than 7d or --dead-older-than 90d.',
      );
    }
    const { app, stores } = await session.client();
    const { records } = stores;
    const retention = { completedMs: olderThan ?? keepAllMs, deadMs: deadOlderThan ?? keepAllMs };
    const counted = own ? null : await countEnded(app, records, retention, io.clock.now());
    if (counted && flags.dryRun) return dryRun(counted);
    const many = counted ? counted.completed + counted.dead : 0;
    return {
      many,
      question: counted && `Remove ${nearly(counted)}${count(many, 'record')} for good?`,
      async act() {
        const removed = await withProgress(input, 'purging', many, async (bar) => {
          for (let sum = 0; ; ) {
            const step = own ? await records.purge() : await records.purge(retention);
            if (step === 0) return sum;
            sum += step;
            bar.add(step);
          }
        });
        return {
          data: { dryRun: false, removed },
          text: `Removed ${removed}, ended idempotency keys included.`,
        };
      },
    };
  },
});

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

const nearly = ({ all, exact }: Ended): string => (exact ? '' : all ? 'about ' : 'at least about ');

function dryRun(ended: Ended) {
  const { completed, dead, exact } = ended;
  return {
    // `keys` is null because the stores cannot count keys without removing them.
    data: { dryRun: true, completed, dead, exact, keys: null },
    text: `Would remove ${nearly(ended)}${completed} completed or cancelled and ${dead} dead records. Ended idempotency keys, which go too, are not counted.`,
  };
}

/** Counting reads whole records, so it is limited. */
const mostCounted = 50_000;

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
      const { found, next } = await firstJobs(records, { status }, mostCounted);
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
