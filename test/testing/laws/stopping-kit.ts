/** Two workers of one queue, each with what it remembers of the limits itself, for laws of jobs that are stopped. */

import assert from 'node:assert/strict';
import { systemClock } from '../../../core/base/clock.ts';
import { PermanentError, SnoozeError } from '../../../core/base/errors.ts';
import type { LongshoreEvent } from '../../../core/base/events.ts';
import type { LimitStore } from '../../../core/contract/derived/limits.ts';
import { type App, type Client, connect, type Job } from '../../../core/index.ts';
import type { AttemptResult } from '../../../core/kernel/attempt/attempt.ts';
import { createRun, type Run } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { appOf, type Parts } from './app.ts';
import { type Kit, mail, minute, second } from './kit.ts';

const job = 'invoice.send';

interface Begun {
  readonly run: Run;
  /** Lets the handler end: as it says, or with an error. */
  readonly finish: (error?: Error) => Promise<AttemptResult>;
}

export interface StoppingWorker {
  readonly client: Client;
  /** Takes the next job; resolves when its handler has begun, or it was refused. */
  next(leaseMs?: number): Promise<Begun | AttemptResult>;
  /** The next one must begin. */
  begins(leaseMs?: number): Promise<Begun>;
  /** The next one must be released, and no attempt spent. */
  waits(): Promise<AttemptResult>;
  /** The next one begins and ends at once. */
  ends(how: 'ok' | 'fail' | 'snooze'): Promise<AttemptResult>;
  /** Takes all that is ready: how many handlers have begun. */
  all(): Promise<Begun[]>;
}

export interface Stopping {
  readonly workers: readonly [StoppingWorker, StoppingWorker];
  readonly limits: LimitStore;
  /** By all workers. */
  readonly began: () => number;
  readonly told: (type: LongshoreEvent['type']) => number;
  put(): Promise<string>;
  /** Makes another worker, as a process that has just started. */
  another(): StoppingWorker;
  /** Each of them must be pending, without an attempt. */
  areUntouched(ids: readonly string[]): Promise<void>;
}

export const failures = {
  // Whatever retries there are, it is a dead letter and comes no more.
  fail: () => new PermanentError('the mail server is down'),
  snooze: () => new SnoozeError(30 * second),
};

export function stopping(t: Kit, parts: Parts): Stopping {
  const store = memoryStore({ clock: { now: t.now, after: systemClock.after } });
  const events: LongshoreEvent[] = [];
  let began = 0;

  function workerOn(backend: Kit['backend']): StoppingWorker {
    const open: ((error?: Error) => void)[] = [];
    const handle = () => {
      began++;
      return new Promise<void>((resolve, reject) =>
        open.push((error) => (error ? reject(error) : resolve())),
      );
    };
    const app: App = appOf(t, 0, { handle, ...parts });
    app.events.on((event) => events.push(event));
    const stores = backend.stores ?? store;
    assert.ok(stores.limits);
    // A process caches by the store object that it has opened.
    const client = connect(app, backend, { store: { ...stores, limits: { ...stores.limits } } });

    async function attemptOf(run: Run): Promise<Begun | AttemptResult> {
      const before = open.length;
      const result = attempt(app, { client, settler: backend }, run);
      let over: AttemptResult | null = null;
      void result.then(
        (it) => (over = it),
        () => {},
      );
      while (open.length === before && over === null) await new Promise((resolve) => setImmediate(resolve));
      if (over) return over;
      const finish = (error?: Error) => {
        open[before]!(error);
        return result;
      };
      return { run, finish };
    }

    const fetch = (max: number, leaseMs: number) =>
      backend.fetch({ queues: [mail], max, leaseMs, waitMs: t.patienceMs });

    const worker: StoppingWorker = {
      client,
      async next(leaseMs = 10 * minute) {
        const [lease] = await fetch(1, leaseMs);
        assert.ok(lease, 'expected a message to be given out, got none');
        return attemptOf(createRun(lease));
      },
      async begins(leaseMs) {
        const one = await worker.next(leaseMs);
        assert.ok('run' in one, 'expected the handler to begin');
        return one;
      },
      async waits() {
        const one = await worker.next();
        assert.ok('outcome' in one, 'expected the job to wait, and its handler began');
        assert.deepEqual([one.outcome, one.counted, one.settled], ['requeued', false, true]);
        return one;
      },
      async ends(how) {
        const { finish } = await worker.begins();
        return finish(how === 'ok' ? undefined : failures[how]());
      },
      async all() {
        const begun: Begun[] = [];
        for (;;) {
          const leases = await fetch(10, 10 * minute);
          if (leases.length === 0) return begun;
          for (const lease of leases) {
            const one = await attemptOf(createRun(lease));
            if ('run' in one) begun.push(one);
            else assert.deepEqual([one.outcome, one.counted, one.settled], ['requeued', false, true]);
          }
        }
      },
    };
    return worker;
  }

  const [first, second_ = first] = t.openings;
  const workers = [workerOn(first!), workerOn(second_!)] as const;
  const { client } = workers[0];
  return {
    workers,
    limits: client.stores.limits!,
    began: () => began,
    told: (type) => events.filter((event) => event.type === type).length,
    async put() {
      return (await client.enqueue(client.app.jobs.get(job) as Job<unknown>, 7)).id;
    },
    another: () => workerOn(second_!),
    async areUntouched(ids) {
      for (const id of ids) {
        const record = await workers[1].client.status(id);
        assert.deepEqual([record?.status, record?.attempts], ['pending', []]);
      }
    },
  };
}
