/**
 * The limits without a key, as this process knows them, so that a worker leaves out queues whose jobs would find no slot. Only the store
 * decides whether a job begins, and a queue that was left out for nothing is asked again within a second.
 */

import { steadyNow } from '../../base/clock.ts';
import type { TakenSlot } from '../../contract/derived/limits.ts';
import type { App } from '../../kernel/app/app.ts';
import { type Limit, sharedKey } from '../../kernel/app/flow-control.ts';
import type { Attempt } from '../../kernel/attempt/attempt.ts';
import type { Run } from '../../kernel/attempt/run.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import type { Bounds } from '../../kernel/worker/state.ts';

/** At a full limit one job asks again after this time: slots of other workers end, and people reset limits. */
const askAgainMs = 1_000;
/** A queue with a job that the app names for another queue is not left out for this time: more of them may be behind the others. */
const mixedMs = 60_000;

interface Known {
  readonly slots: number;
  /** How long a slot of a rate is held; `null` = a concurrency. */
  readonly holdMs: number | null;
  /** The runs of this process that hold a slot of a concurrency. */
  readonly holders: Set<Run>;
  /** When the slots of a rate end that this process has taken, in their order. */
  readonly ends: { readonly holder: string; readonly at: number }[];
  /** How many slots this process can have, as far as it knows. */
  most: number;
  /** From then on, one job more than `most` may ask. */
  askAt: number;
}

/** By client and key. */
const knownOf = new WeakMap<Client, Map<string, Known>>();

function knownLimit(client: Client, limit: Limit): Known {
  const { slots, holdMs } = limit;
  const all = knownOf.get(client) ?? new Map<string, Known>();
  knownOf.set(client, all);
  const key = sharedKey(limit);
  const known = all.get(key) ?? { slots, holdMs, holders: new Set(), ends: [], most: slots, askAt: 0 };
  all.set(key, known);
  return known;
}

/** The slots that this process has, and maybe some that have ended. */
const takenOf = ({ holdMs, holders, ends }: Known): number => (holdMs === null ? holders.size : ends.length);

/** The slots that this process has. */
function usedOf(known: Known, now: number): number {
  const { holders, ends } = known;
  // The lease of a run that is over is not renewed.
  for (const run of holders) if (run.expiresAt <= now) holders.delete(run);
  while (ends.length > 0 && ends[0]!.at <= now) ends.shift();
  return takenOf(known);
}

/** Called when the attempt has taken a slot. */
export function took({ app, ports, run }: Attempt, { key, holder }: TakenSlot): void {
  const known = knownOf.get(ports.client)?.get(key);
  if (!known) return;
  const now = steadyNow(app.clock);
  if (known.holdMs === null) known.holders.add(run);
  else known.ends.push({ holder, at: now + known.holdMs });
  // Without a look for runs that are over: this is called for each job.
  const used = takenOf(known);
  if (used > known.most) known.most = known.slots;
  if (used >= known.slots) known.askAt = now + askAgainMs;
}

/** Called when the store has given no slot. @param waitMs when it may give one */
export function refused({ app, ports }: Attempt, key: string, waitMs: number): void {
  const known = knownOf.get(ports.client)?.get(key);
  if (!known) return;
  const now = steadyNow(app.clock);
  known.most = usedOf(known, now);
  known.askAt = now + Math.min(waitMs, askAgainMs);
}

/** Called when slots were given back. */
export function freed({ ports, run }: Attempt, slots: readonly TakenSlot[]): void {
  for (const { key, holder } of slots) {
    const known = knownOf.get(ports.client)?.get(key);
    known?.holders.delete(run);
    const at = known?.ends.findLastIndex((end) => end.holder === holder) ?? -1;
    if (at >= 0) known!.ends.splice(at, 1);
  }
}

/** The limits that all jobs of a queue share, and the limits of each of its jobs: empty if one of them has none. */
interface Cover {
  readonly shared: readonly Known[];
  readonly byJob: ReadonlyMap<string, readonly Known[]>;
}

function coverOf(client: Client, queue: string): Cover | null {
  const known = (limits: readonly Limit[] | null | undefined): Known[] =>
    (limits ?? []).filter(({ keyOf }) => keyOf === null).map((limit) => knownLimit(client, limit));
  const shared = known(client.app.queueRules.get(queue)?.limits);
  const byJob = new Map(jobsOf(client.app, queue).map(({ name, limits }) => [name, known(limits)]));
  if ([...byJob.values()].some(({ length }) => length === 0)) byJob.clear();
  return shared.length > 0 || byJob.size > 0 ? { shared, byJob } : null;
}

const jobsOf = ({ jobs, accepts }: App, queue: string) =>
  [...jobs.values()].filter((job) => accepts.get(queue)?.has(job.name) ?? job.queue === queue);

export function boundQueues(client: Client): Bounds {
  const { clock } = client.app;
  const covers = new Map(
    client.app.queues.flatMap((queue) => {
      const cover = coverOf(client, queue);
      return cover ? [[queue, cover] as const] : [];
    }),
  );
  /** When the queues with jobs of other queues may be left out again. */
  const mixedUntil = new Map<string, number>();

  return {
    queues: new Set(covers.keys()),
    room(queue, asking) {
      const now = steadyNow(clock);
      const { shared, byJob } = covers.get(queue)!;
      const roomOf = (limits: readonly Known[]): number =>
        Math.min(
          ...limits.map((known) => Math.max(known.most - usedOf(known, now), known.askAt <= now ? 1 : 0)),
        );
      const rooms = [...byJob.values()].map(roomOf);
      // Only a fetch shows which of several jobs is next.
      const isUnknown = rooms.length > 1 && rooms.some((room) => room > 0);
      const ofJobs = isUnknown || (mixedUntil.get(queue) ?? 0) > now ? Infinity : Math.min(...rooms);
      return Math.min(roomOf(shared), ofJobs) - asking;
    },
    opensAt(queue) {
      const now = steadyNow(clock);
      const { shared, byJob } = covers.get(queue)!;
      const times = [...shared, ...byJob.values()]
        .flat()
        .flatMap(({ askAt, ends }) => [askAt, ...(ends[0] ? [ends[0].at] : [])]);
      return Math.min(now + askAgainMs, ...times.filter((at) => at > now));
    },
    ended(queue, job) {
      const { byJob } = covers.get(queue) ?? {};
      if (byJob && byJob.size > 0 && !byJob.has(job)) mixedUntil.set(queue, steadyNow(clock) + mixedMs);
    },
  };
}
