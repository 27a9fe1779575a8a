/**
 * Waits for job ends that other processes report. A job is registered with the server while a caller of this process waits for it, so
 * processes report the ends of registered jobs only.
 */

import type { Clock } from '../../../core/base/clock.ts';
import type { EndWatch, RecordStore } from '../../../core/contract/store.ts';
import { createEndWatchers } from '../../../core/kit/records/end-watchers.ts';

type WatchedJob = Parameters<NonNullable<RecordStore['watchEnd']>>[0];

interface EndSource {
  /** Listens to the ends of such jobs from now on. It calls `changed` when it begins to hear them, and when it stops. */
  start(job: WatchedJob): void;
  hears(job: WatchedJob): boolean;
  /** Asks for the ends of these jobs, for `holdMs`. May fail. */
  register(jobs: readonly WatchedJob[], holdMs: number): Promise<unknown>;
  /** Ends the registration of these jobs. May fail. Absent = registrations expire, because other processes may wait for the jobs too. */
  unregister?(ids: readonly string[]): Promise<unknown>;
}

/** The registration of a process that has died ends after this time. */
const holdMs = 30_000;
const renewMs = 10_000;
/** Jobs per call. */
const mostAtOnce = 1_000;

export type EndWatches = ReturnType<typeof createEndWatches>;

export function createEndWatches(clock: Clock, source: EndSource) {
  const watchers = createEndWatchers();
  const watched = new Map<string, { readonly job: WatchedJob; registered: boolean }>();
  /** Jobs to register, and to unregister. */
  const coming = new Set<string>();
  const going = new Set<string>();
  let working = false;
  let cancelRenewal: (() => void) | null = null;

  /** One call at a time: jobs that come meanwhile share the next one. */
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
      coming.clear(); // the next renewal tries again; until then the waiters poll
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
        queueMicrotask(work); // together with the other jobs of this turn
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
    /** The server reports that the job has ended. */
    told: (id: string): void => watchers.tell(id),
    /** The source begins or stops to hear some jobs. */
    changed(): void {
      for (const [id, one] of watched) {
        const hears = source.hears(one.job);
        if (hears === one.registered) continue;
        coming.add(id); // the waiters are woken once the job is registered
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
