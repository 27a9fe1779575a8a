/**
 * Waiting for ends that other processes tell of. A job is registered with the server while somebody here waits for it, so that whoever
 * ends a job that nobody waits for has nothing to tell.
 */

import type { Clock } from '../../../core/base/clock.ts';
import type { EndWatch, RecordStore } from '../../../core/contract/store.ts';
import { createEndWatchers } from '../../../core/kit/records/end-watchers.ts';

type WatchedJob = Parameters<NonNullable<RecordStore['watchEnd']>>[0];

interface EndSource {
  /** Listens to the ends of such jobs from now on. It calls `changed` when it hears them, and when it does no longer. */
  start(job: WatchedJob): void;
  hears(job: WatchedJob): boolean;
  /** Asks to be told of these, for `holdMs`. May fail. */
  register(jobs: readonly WatchedJob[], holdMs: number): Promise<unknown>;
  /** Nobody here waits for these any more. May fail. Absent where they must be left to their time, because others may wait, too. */
  unregister?(ids: readonly string[]): Promise<unknown>;
}

/** So long a waiter that has died is remembered at most. */
const holdMs = 30_000;
const renewMs = 10_000;
/** Of one call. */
const mostAtOnce = 1_000;

export type EndWatches = ReturnType<typeof createEndWatches>;

export function createEndWatches(clock: Clock, source: EndSource) {
  const watchers = createEndWatchers();
  const watched = new Map<string, { readonly job: WatchedJob; registered: boolean }>();
  /** To be registered, and to be forgotten. */
  const coming = new Set<string>();
  const going = new Set<string>();
  let working = false;
  let cancelRenewal: (() => void) | null = null;

  /** One call at a time: what comes meanwhile shares the next one. */
  async function work(): Promise<void> {
    if (working) return;
    working = true;
    try {
      while (coming.size + going.size > 0) {
        await register(takeFrom(coming).flatMap((id) => watched.get(id) ?? []));
        const gone = takeFrom(going).filter((id) => !watched.has(id));
        if (gone.length > 0) await source.unregister?.(gone);
      }
    } catch {
      coming.clear(); // the next renewal tries again, and until then they poll
      going.clear();
    } finally {
      working = false;
    }
  }

  async function register(
    those: readonly { readonly job: WatchedJob; registered: boolean }[],
  ): Promise<void> {
    const heard = those.filter(({ job }) => source.hears(job));
    if (heard.length === 0) return;
    await source.register(
      heard.map(({ job }) => job),
      holdMs,
    );
    for (const one of heard) {
      if (one.registered) continue;
      one.registered = true;
      watchers.tell(one.job.id);
    }
  }

  function renewLater(): void {
    cancelRenewal ??= clock.after(renewMs, () => {
      cancelRenewal = null;
      if (watched.size > 0) renewLater();
      for (const id of watched.keys()) coming.add(id);
      void work();
    });
  }

  function forget(id: string): void {
    if (watchers.has(id)) return;
    const one = watched.get(id);
    watched.delete(id);
    coming.delete(id);
    if (watched.size === 0) {
      cancelRenewal?.();
      cancelRenewal = null;
    }
    if (!one?.registered || !source.unregister) return;
    going.add(id);
    void work();
  }

  return {
    watch(job: WatchedJob, look: () => void): EndWatch {
      const { id } = job;
      const stop = watchers.add(id, look);
      const one = watched.get(id) ?? { job, registered: false };
      if (!watched.has(id)) {
        watched.set(id, one);
        coming.add(id);
        source.start(job);
        renewLater();
        queueMicrotask(work); // with those of this turn
      }
      return {
        get hears() {
          return one.registered && source.hears(job);
        },
        stop() {
          stop();
          forget(id);
        },
      };
    },
    /** The server says that it has ended. */
    told: (id: string): void => watchers.tell(id),
    /** The source hears what it did not hear before, or does no longer. */
    changed(): void {
      for (const [id, one] of watched) {
        const hears = source.hears(one.job);
        if (hears === one.registered) continue;
        coming.add(id); // which tells them, once it is known to whoever ends the job
        if (hears) continue;
        one.registered = false;
        watchers.tell(id);
      }
      void work();
    },
    /** Leaves the waiters to their polls. */
    close(): void {
      cancelRenewal?.();
      cancelRenewal = null;
      watched.clear();
      coming.clear();
      going.clear();
    },
  };
}

function takeFrom(ids: Set<string>): string[] {
  const some = [...ids].slice(0, mostAtOnce);
  for (const id of some) ids.delete(id);
  return some;
}
