/** Limits across all workers, and pauses of jobs. A job that is over a limit or paused waits, and no attempt is spent. */

import { door } from '../../base/lazy.ts';
import type { Limit } from '../../kernel/app/flow-control.ts';
import type { Attempt, RunStep, Step } from '../../kernel/attempt/attempt.ts';
import { type Abilities, type Needs, noStore, type Unmet } from '../../kernel/enqueue/abilities.ts';
import type { Chore } from '../../kernel/worker/chores.ts';
import type { Feature } from '../feature.ts';
import { boundQueues } from './known.ts';
import { isFresh, knownPaused, refreshed } from './paused-jobs.ts';

const code = door(() => import('./door.ts'));

export const limited = {
  for: hasLimits,
  run: (it, next) => code(({ enter }) => enter(it, next)),
  settle: (it, end, next) => code(({ leave }) => leave(it, end, next)),
} satisfies Step;

function hasLimits({ job, refusal, app, run, envelope }: Attempt): boolean {
  if (job === null || refusal !== null) return false;
  if (run.waitsFor !== null || job.breaker !== null || envelope?.concurrency) return true;
  return job.limits !== null || app.queueRules.get(run.lease.queue)?.limits != null;
}

export const paused: RunStep = {
  for({ job, ports, startedAt }) {
    const known = knownPaused(ports.client);
    return known !== null && (known.names.has(job!.name) || !isFresh(known, startedAt));
  },

  run(it, next) {
    const known = knownPaused(it.ports.client)!;
    const decide = () => (known.names.has(it.job.name) ? code(({ park }) => park(it, known, next)) : next());
    const reading = refreshed(it.ports.client, known, it.startedAt);
    return reading ? reading.then(decide) : decide();
  },
};

const waits = {
  everyMs: 5_000,
  followsLeases: true,
  for: ({ backend, stores }) => stores.limits !== undefined && backend.pending !== undefined,
} satisfies Partial<Chore>;

const needsOfLimits: Needs = ({ jobs, rules }, it) => [
  ...jobs.flatMap(({ name, breaker, limits }) => {
    const of = `job "${name}"`;
    const text = breaker && it.mostSlots === 0 ? noStore(`Job "${name}" has a breaker`, it) : null;
    return [...(text ? [{ of, feature: 'breaker', text }] : []), ...unmetLimits(of, limits, it)];
  }),
  ...rules.flatMap(([queue, { limits }]) => unmetLimits(`queue "${queue}"`, limits, it)),
];

const unmetLimits = (of: string, limits: readonly Limit[] | null, it: Abilities): Unmet[] =>
  (limits ?? []).flatMap((limit) => {
    const text = limitFault(limit, it);
    return text === null ? [] : [{ of, feature: limit.kind, text }];
  });

function limitFault({ of, kind, slots, holdMs }: Limit, it: Abilities): string | null {
  const perSecond = kind === 'rate' ? (slots * 1_000) / holdMs! : 0;
  if (it.mostSlots === 0) return noStore(`${of} has a limit`, it);
  if (slots > it.mostSlots)
    return `Expected the limit of ${kind} of ${of} to be at most ${it.mostSlots}, which is what the store of backend "${it.name}" can count, got ${slots}. Use a smaller limit,${kind === 'rate' ? ' smooth: true,' : ''} or another store.`;
  if (perSecond > it.mostPerSecond(slots))
    return `The rate of ${of} can never be reached: ${slots} in ${holdMs} ms are ${Math.ceil(perSecond)} a second, and the store of backend "${it.name}" gives out ${it.mostPerSecond(slots)} of ${slots} slots a second. Use smooth: true, fewer in a shorter perMs, or another store.`;
  return null;
}

export const limits = {
  needs: needsOfLimits,
  bounds: boundQueues,
  forget: async (client, ids) => code(({ leaveLines }) => leaveLines(client, ids)),
  chores: [
    {
      ...waits,
      name: 'waking jobs at limits',
      scope: 'backend',
      load: ({ client }) => code(({ lookingAtLines }) => lookingAtLines(client)),
    },
    {
      // Only this process knows these jobs. There are none while the backend answers.
      ...waits,
      name: 'waking jobs at limits again',
      scope: 'worker',
      load: ({ client }) =>
        code(
          ({ promoteOwed }) =>
            () =>
              promoteOwed(client),
        ),
    },
  ],
  run: { pause: paused, limit: limited },
  end: { limit: limited },
} satisfies Feature;
