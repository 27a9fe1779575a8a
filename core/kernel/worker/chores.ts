/** Work that comes again and again beside the jobs. The leader does what needs one worker only; a follower does it rarely, in case that no leader does. */

import { steadyNow } from '../../base/clock.ts';
import type { QueueBackend } from '../../contract/queue.ts';
import type { App } from '../app/app.ts';
import type { Client } from '../enqueue/client.ts';
import { createLeader } from './leader.ts';
import type { WorkerState } from './state.ts';
import type { Watch } from './watch-runs.ts';

/** The worker that does a chore, or the function. */
export interface ChoreHost {
  readonly id: string;
  readonly where: 'worker' | 'function';
  readonly client: Client;
  readonly queues: readonly string[];
  /** The worker has stopped: what takes long ends. */
  stopped(): boolean;
}

type Run = () => Promise<unknown>;

export interface Chore {
  /** What it does, for the event of its failure: `looking at batches`. */
  readonly name: string;
  /**
   * `backend`: once for all workers that take from the same queues. It may be done twice, by two workers at the same time or by one that was
   * frozen in it, and then changes nothing more. `worker`: by each of them.
   */
  readonly scope: 'backend' | 'worker';
  /** The longest pause between two runs. Pauses are random, from half of it where each worker does it: they must not go in step. */
  readonly everyMs: number;
  /** The first run comes after this, and then one after each `everyMs` exactly. */
  readonly firstMs?: number;
  /** It looks for what leases leave behind: where leases are shorter than `everyMs`, each worker does it, once in a lease. */
  readonly followsLeases?: true;
  /**
   * Functions do it with the call of a timer too, once in `everyMs`. Its failures are reported as those of this store; `fails` = the call fails,
   * so that the alarms of the cloud see it. @default they leave it to workers, or to the cloud
   */
  readonly onTimer?: 'batch' | 'metric' | 'fails';
  /** Whether this app, backend and store have any use of it. @default always */
  for?(client: Client): boolean;
  /** Loads its code at the first run, and answers what each run does. */
  load(host: ChoreHost): Run | Promise<Run>;
}

/** A worker that does not lead does the chores of the backend with pauses that are so many times as long. */
const followerFactor = 12;

interface Ports {
  readonly state: WorkerState;
  readonly watch: Pick<Watch, 'once' | 'stopped' | 'failed'>;
}

/** @returns gives the lead up, for a worker that stops */
export function startChores({ state, watch }: Ports, chores: readonly Chore[]): { resign(): Promise<void> } {
  const { id, client, settings } = state;
  const { clock, random } = client.app;
  const { queues, leaseMs } = settings;
  const leader = createLeader(state);

  function start({ name, scope, everyMs, firstMs, load }: Chore): void {
    let run: Run | undefined;
    let doneAt = steadyNow(clock);
    const isDue = () =>
      scope === 'worker' || leader.leads || steadyNow(clock) - doneAt >= everyMs * followerFactor;

    const least = scope === 'worker' ? 0.5 : 0.9;
    const pauseMs = () => everyMs * (least + (1 - least) * random());
    const later = (delayMs: number) => watch.stopped || watch.once(delayMs, work);

    async function work(): Promise<void> {
      try {
        if (isDue()) {
          run ??= await load({ id, where: 'worker', client, queues, stopped: () => watch.stopped });
          await run();
          doneAt = steadyNow(clock);
        }
      } catch (error) {
        doneAt = steadyNow(clock);
        watch.failed(name, error);
      }
      later(firstMs === undefined ? pauseMs() : everyMs);
    }

    later(firstMs ?? pauseMs());
  }

  for (const chore of chores) {
    if (chore.for?.(client) === false) continue;
    const isShort = chore.followsLeases && leaseMs < chore.everyMs;
    start(isShort ? { ...chore, scope: 'worker', everyMs: leaseMs } : chore);
  }

  async function elect(): Promise<void> {
    const nextMs = await leader.elect();
    if (!watch.stopped) watch.once(nextMs, elect);
  }
  watch.once(leader.firstMs(), elect);
  return leader;
}

/** Makes the jobs of workers that died ready again. Resolves with how many there were. */
export async function reap({
  id,
  client: { app, backend },
  queues,
}: Pick<ChoreHost, 'id' | 'client' | 'queues'>): Promise<number> {
  // All queues at once: a queue may ask for them in one statement.
  const counts = await Promise.all(queues.map((queue) => backend.reapExpired(queue)));
  let total = 0;
  for (const [i, count] of counts.entries()) {
    if (count > 0) app.events.emit({ type: 'worker.reaped', worker: id, queue: queues[i]!, count });
    total += count;
  }
  return total;
}

/** Removes what is past its retention. */
export async function purge({
  client: { app, stores },
  stopped,
}: Pick<ChoreHost, 'client' | 'stopped'>): Promise<void> {
  const { records, audit } = stores;
  const purges = [() => records.purge(), () => audit?.purge(app.clock.now()) ?? 0];
  for (const some of purges) while (!stopped() && (await some()) > 0) await new Promise(setImmediate); // jobs run in between
}

/** Those of every worker, and those of the features of its app. */
export const choresOf = ({ installed }: App, { hints }: QueueBackend): Chore[] => [
  {
    name: 'reaping',
    scope: hints?.reapsForAll ? 'backend' : 'worker',
    everyMs: 5_000,
    followsLeases: true,
    load: (host) => () => reap(host),
  },
  {
    name: 'purging',
    scope: 'backend',
    everyMs: 60_000,
    load: (host) => () => purge(host),
  },
  ...(installed.chores as readonly Chore[]),
];
