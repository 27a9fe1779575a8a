/** Recurring work besides the jobs. The leader does the work that one worker has to do; a follower does it rarely, in case there is no leader. */

import { steadyNow } from '../../base/clock.ts';
import type { QueueBackend } from '../../contract/queue.ts';
import type { App } from '../app/app.ts';
import type { Client } from '../enqueue/client.ts';
import { createLeader } from './leader.ts';
import type { WorkerState } from './state.ts';
import type { Watch } from './watch-runs.ts';

/** The worker or function that does a chore. */
export interface ChoreHost {
  readonly id: string;
  readonly where: 'worker' | 'function';
  readonly client: Client;
  readonly queues: readonly string[];
  /** `true` = the worker has stopped, so a long chore must end. */
  stopped(): boolean;
}

type Run = () => Promise<unknown>;

export interface Chore {
  /** The name in the event of a failure: `looking at batches`. */
  readonly name: string;
  /**
   * `backend`: done once for all workers that take from the same queues. It must be safe to do twice, by two workers at once or by one that
   * was frozen during it. `worker`: done by every worker.
   */
  readonly scope: 'backend' | 'worker';
  /** The longest pause between two runs. Pauses are random, so that workers do not run in step: at least 90 % of it, 50 % with scope `worker`. */
  readonly everyMs: number;
  /** The pause before the first run. If it is given, later pauses are exactly `everyMs`. */
  readonly firstMs?: number;
  /** The chore cleans up after leases: if leases are shorter than `everyMs`, every worker does it, once per lease. */
  readonly followsLeases?: true;
  /**
   * A function with a timer also does the chore, once in `everyMs`. The value names the store in the event of a failure; `fails` = the call
   * of the function fails, so that the cloud's alarms see it. @default functions do not do it
   */
  readonly onTimer?: 'batch' | 'metric' | 'fails';
  /** Whether this app, backend and store need the chore. @default always */
  for?(client: Client): boolean;
  /** Called before the first run. Loads the code and returns the function for all runs. */
  load(host: ChoreHost): Run | Promise<Run>;
}

/** The pauses of chores of the backend are this many times as long in a worker that does not lead. */
const followerFactor = 12;

interface Ports {
  readonly state: WorkerState;
  readonly watch: Pick<Watch, 'once' | 'stopped' | 'failed'>;
}

/** @returns `resign`: gives up the lead when the worker stops */
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

/** Makes the jobs of dead workers ready again. Resolves with their number. */
export async function reap({
  id,
  client: { app, backend },
  queues,
}: Pick<ChoreHost, 'id' | 'client' | 'queues'>): Promise<number> {
  // All queues at once, so that the backend can combine them into one statement.
  const counts = await Promise.all(queues.map((queue) => backend.reapExpired(queue)));
  let total = 0;
  for (const [i, count] of counts.entries()) {
    if (count > 0) app.events.emit({ type: 'worker.reaped', worker: id, queue: queues[i]!, count });
    total += count;
  }
  return total;
}

/** Deletes records and audit entries whose retention is over. */
export async function purge({
  client: { app, stores },
  stopped,
}: Pick<ChoreHost, 'client' | 'stopped'>): Promise<void> {
  const { records, audit } = stores;
  const purges = [() => records.purge(), () => audit?.purge(app.clock.now()) ?? 0];
  for (const some of purges) while (!stopped() && (await some()) > 0) await new Promise(setImmediate); // jobs run in between
}

/** The chores of every worker, and those of the app's features. */
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
