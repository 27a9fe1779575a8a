/** Which dead letters a command means. */

import type { QueueAdmin } from '../../../core/contract/admin.ts';
import { onDemand } from '../../../core/kit/lazy.ts';
import { reasons } from '../../../core/kit/records/partitions.ts';
import { isNarrow as narrows } from '../../../core/operations/select.ts';
import type { DeadLetterFilter, DeadLetterSelection } from '../../../core/operations/types.ts';
import { duration, id, integer, name, oneOf, words } from '../config/values.ts';
import { given } from '../config/without-undefined.ts';
import type { Input, Values } from '../definition.ts';
import { usage } from '../errors.ts';
import type { Session } from '../session.ts';
import { wholeIds } from './job-ids.ts';
import { unknownJob } from './select-jobs.ts';

export const filterFlags = {
  job: { flags: '--job <name>', text: 'only of this job', parse: name },
  reason: {
    flags: '--reason <reason>',
    text: `only those with this reason: ${reasons.join(', ')}`,
    parse: oneOf(reasons),
  },
  tenant: { flags: '--tenant <id>', text: 'only of this tenant', parse: words },
  error: { flags: '--error <text>', text: 'only with this text in the error; case counts', parse: words },
  group: { flags: '--group <group>', text: 'only of this group of `longshore dead groups`', parse: name },
  olderThan: {
    flags: '--older-than <duration>',
    text: 'only those that died at least this long ago',
    parse: duration(),
  },
  newerThan: {
    flags: '--newer-than <duration>',
    text: 'only those that died within this time',
    parse: duration(),
  },
} as const;

export type FilterValues = Partial<Values<typeof filterFlags>> & { readonly queue?: string | undefined };

export const selectionFlags = {
  all: { flags: '--all', text: 'all dead letters' },
  queue: { flags: '--queue <name>', text: 'only of this queue', parse: name },
  ...filterFlags,
  dryRun: { flags: '--dry-run', text: 'say how many would be, and change nothing' },
  max: { flags: '--max <n>', text: 'no more than so many, the newest', parse: integer(1) },
} as const;

export const selectedArgs = [
  { name: '[id...]', text: 'ids of dead letters, or how they begin', parse: id },
] as const;

type Selecting = Pick<Input, 'args' | 'io' | 'session'> & {
  readonly flags: FilterValues & { readonly all: boolean | undefined };
};

export function filterOf(flags: FilterValues, now: number): DeadLetterFilter {
  const { queue, job, reason, tenant, error, group, olderThan, newerThan } = flags;
  return given({
    ...{ queue, job, reason, tenantId: tenant, error, fingerprint: group },
    diedFrom: newerThan === undefined ? undefined : now - newerThan,
    diedBefore: olderThan === undefined ? undefined : now - olderThan + 1,
  });
}

export const isNarrow = (flags: FilterValues): boolean => narrows(filterOf(flags, 0));

export function checkSelection({ args, flags }: Selecting): void {
  if (flags.all && args.length > 0)
    throw usage('Expected either ids or --all, got both. Leave one of them out.');
  if (args.length === 0 && !isByFilter(flags))
    throw usage(
      'Expected the ids of dead letters, a filter such as --group, or --all. `longshore dead list` and `dead groups` show them.',
    );
  if (args.length > 0 && isByFilter(flags))
    throw usage(
      'Expected either ids or a filter (--queue, --job, --reason, --tenant, --error, --group, --older-than, --newer-than), got both. Leave one of them out.',
    );
}

/** Rather than ids. A filter alone means all that it lets through. */
export const isByFilter = (flags: Selecting['flags']): boolean =>
  flags.all === true || flags.queue !== undefined || isNarrow(flags);

export async function selectionOf({ args, flags, io, session }: Selecting): Promise<DeadLetterSelection> {
  if (isByFilter(flags)) return { filter: filterOf(flags, io.clock.now()) };
  return { ids: await deadIds(session, args) };
}

export async function deadAdmin(session: Session, queue?: string): Promise<QueueAdmin> {
  const admin = await session.admin('list or settle dead letters');
  if (queue !== undefined) await session.queues([queue]);
  return admin;
}

/** Where the queue keeps no records, its dead letters say which ids begin so. */
export function deadIds(session: Session, given: readonly string[]): Promise<readonly string[]> {
  const letters = onDemand(async () => {
    const { deadLetters } = await session.operator();
    return (await deadLetters.page({}, { max: 10_000 })).letters;
  });
  return wholeIds(session, given, async (beginning) =>
    (await letters()).filter(({ id }) => id.startsWith(beginning)),
  );
}

export async function noneText(flags: FilterValues, session: Session): Promise<string> {
  if (!isNarrow(flags)) return 'No dead letters.';
  return `No such dead letters.${unknownJob((await session.config()).app, flags.job)}`;
}
