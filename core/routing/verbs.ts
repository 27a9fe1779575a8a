/** The verbs of a routed client: each finds the backend of a job, or asks all backends. */

import { config, LongshoreError } from '../base/errors.ts';
import { backendError } from '../base/failure.ts';
import { onDemand } from '../base/lazy.ts';
import type { SendResult } from '../contract/queue.ts';
import type { CancelResult, JobRecord } from '../contract/store.ts';
import type { AnyBatchOptions } from '../features/batches/check.ts';
import type { Batch, Items } from '../kernel/app/batch.ts';
import type { ChainOptions, StartedChain } from '../kernel/app/chain.ts';
import type { EmitOptions } from '../kernel/app/durable.ts';
import type { Job } from '../kernel/app/job.ts';
import type { MetricReport, MetricRequest } from '../kernel/app/metric-report.ts';
import type { EnqueuedJob, EnqueueOptions, WatchOptions } from '../kernel/app/options.ts';
import { backendOf, notOne, queuesOn } from '../kernel/enqueue/backends.ts';
import type { Client, JobChange, ResultOptions } from '../kernel/enqueue/client.ts';
import * as one from '../kernel/enqueue/enqueue.ts';
import type { SendingClient } from '../kernel/enqueue/send.ts';
import type { RecordReader } from '../kernel/enqueue/watch.ts';
import { homeOfBatch } from './batches.ts';
import { homeOfChain } from './chains.ts';
import type { OfBackend, Routing } from './client.ts';
import { askEach, keepersOf } from './each.ts';
import { failingOver, homeOnEither, outageOf, type Pair, startOnEither } from './fail-over.ts';
import { firstOf } from './first-of.ts';
import type { Outage } from './outage.ts';

export { batchesOfAll } from './batches.ts';
export { chainsOfAll } from './chains.ts';

/** Loaded on demand, because only some callers need it. */
const code = onDemand(() => import('./door.ts'));

type JobsToEnqueue = Extract<one.ManyCall[0], readonly unknown[]>;

export function verbsOf(routing: Routing) {
  const { app, names, clients, failover } = routing;
  /** The queues that the workers of each backend take from. */
  const queues = new Map(names.map((name) => [name, queuesOn(app, name, failover)]));

  /** Throws `OPTION` for an unknown backend, or one whose workers do not take from this queue. */
  function nameOf(job: Job | undefined, { backend, queue = job?.queue ?? '' }: EnqueueOptions): string {
    const name = backend ?? (job ? backendOf(app, job, queue) : 'default');
    if (!names.includes(name)) throw notOne(name, names);
    const others = names.filter((other) => queues.get(other)!.includes(queue));
    // The client refuses a queue that the app does not name.
    if (others.length === 0 || others.includes(name)) return name;
    throw new LongshoreError(
      'OPTION',
      `Expected a queue of backend "${name}", got "${queue}": only workers of ${others.join(', ')} take jobs from it. Name one of ${queues.get(name)!.join(', ') || 'another backend'}.`,
    );
  }

  function clientAt(name: string): Client {
    if (!names.includes(name)) throw notOne(name, names);
    const client = clients.get(name);
    if (client) return client;
    throw config(`Expected backend "${name}" to be a queue, got null: this process does not use it.`);
  }

  const clientsAt = (name: string | undefined): Client[] =>
    name === undefined ? [...clients.values()] : [clientAt(name)];

  /** Reads the record of one job. After the job was found, only its backend is asked. */
  function readerAt(name: string | undefined): RecordReader {
    const all = clientsAt(name);
    let asked = all.filter(({ stores }) => !stores.records.recordsDisabled);
    const [first] = asked;
    if (!first) return all[0]!;
    const look = async (client: Client, id: string) => {
      const record = await client.status(id);
      if (record) asked = [client];
      return record;
    };
    return {
      app,
      backend: first.backend,
      stores: {
        records: {
          get: (id) => firstOf(asked, (client) => look(client, id), isKnown),
          watchEnd: (...watched) => asked[0]!.stores.records.watchEnd?.(...watched) ?? notWatched,
        },
      },
    };
  }

  const outages = new Map<string, Outage>();

  /** `null` = there is no failover for this backend. */
  function pairOf(name: string): Pair | null {
    const first = clientAt(name);
    const to = Object.hasOwn(failover, name) ? failover[name]! : name;
    if (to === name) return null;
    const second = clientAt(to);
    const outage = outages.get(name) ?? outageOf(first, second);
    outages.set(name, outage);
    return { first, second, outage };
  }

  function sendingTo(name: string, went: (to: string) => void = () => {}): SendingClient {
    const pair = pairOf(name);
    return pair ? failingOver(pair, () => went(pair.second.name!)) : clientAt(name);
  }

  /** Asks the backends that can find a job by its id. If none can, the first one throws the error. */
  function changed(ask: (client: Client) => Promise<boolean>): Promise<boolean> {
    const all = clientsAt(undefined);
    const able = all.filter(({ backend }) => backend.pending);
    return firstOf(able.length > 0 ? able : all, ask, (isChanged) => isChanged);
  }

  /** One call per backend, at the same time. */
  async function enqueueEach(jobs: JobsToEnqueue, shared: EnqueueOptions = {}): Promise<SendResult[]> {
    const results: SendResult[] = new Array(jobs.length);
    const calls = new Map<string, { readonly client: SendingClient; readonly indexes: number[] }>();
    for (const [i, each] of jobs.entries()) {
      try {
        const name = nameOf(each?.job, each?.options ?? {});
        const call = calls.get(name) ?? { client: sendingTo(name), indexes: [] };
        calls.set(name, call);
        call.indexes.push(i);
      } catch (error) {
        if (!(error instanceof LongshoreError)) throw error;
        results[i] = refused(error);
      }
    }
    if (calls.size > 1 && shared.tx !== undefined)
      throw new LongshoreError(
        'OPTION',
        `Expected jobs of one backend with tx, got jobs of ${[...calls.keys()].join(', ')}. Enqueue the jobs of each backend in a separate call.`,
      );
    const failures: unknown[] = [];
    await Promise.all(
      [...calls.values()].map(async ({ client, indexes }) => {
        try {
          const sent = await one.enqueueMany(
            client,
            indexes.map((i) => withoutBackend(jobs[i]!)),
            shared,
          );
          for (const [n, i] of indexes.entries()) results[i] = sent[n]!;
        } catch (error) {
          failures.push(error);
          for (const i of indexes) results[i] = refused(backendError('enqueueing', error));
        }
      }),
    );
    // If only some backends failed, the results tell the caller which jobs were not enqueued.
    if (failures.length > 0 && failures.length === calls.size) throw failures[0];
    return results;
  }

  return {
    async enqueue(job: Job, payload: unknown, options: EnqueueOptions = {}): Promise<EnqueuedJob> {
      const { backend: _, ...own } = options;
      let backend = nameOf(job, options);
      const client = sendingTo(backend, (to) => {
        backend = to;
      });
      const enqueued = await one.enqueue(client, job, payload, own);
      return { ...enqueued, backend };
    },
    enqueueMany(...[job, payloads, options]: one.ManyCall): Promise<SendResult[]> {
      if (Array.isArray(job)) return enqueueEach(job, payloads as EnqueueOptions | undefined);
      const { backend: _, ...own } = options ?? {};
      const client = sendingTo(nameOf(job as Job, options ?? {}));
      return one.enqueueMany(client, job as Job, payloads as readonly unknown[], own);
    },
    status(id: string, { backend }: OfBackend = {}): Promise<JobRecord | null> {
      return firstOf(clientsAt(backend), (client) => client.status(id), isKnown);
    },
    cancel(id: string, { backend }: OfBackend = {}): Promise<CancelResult> {
      return firstOf(clientsAt(backend), (client) => client.cancel(id), isKnown);
    },
    update(job: Job, id: string, change: JobChange<unknown>): Promise<boolean> {
      return changed((client) => client.update(job, id, change));
    },
    promote(id: string): Promise<boolean> {
      return changed((client) => client.promote(id));
    },
    remove(id: string): Promise<boolean> {
      return changed((client) => client.remove(id));
    },
    async emit(event: string, payload?: unknown, options?: EmitOptions): Promise<number> {
      const { emit } = await code();
      return emit([...clients.values()], event, payload, options);
    },
    async result(job: Job, id: string, { backend, ...options }: ResultOptions & OfBackend) {
      const askedAt = app.clock.now();
      const { resultOf } = await code();
      return resultOf(readerAt(backend), askedAt, job, id, options);
    },
    async *watch(id: string, { backend, ...options }: WatchOptions & OfBackend = {}) {
      const { watchJob } = await code();
      yield* watchJob(readerAt(backend), id, options);
    },
    async metrics({ backend, ...request }: MetricRequest & OfBackend = {}): Promise<MetricReport> {
      const { metricsOf } = await code();
      const asked = clientsAt(backend);
      // A store that several backends share is counted once.
      const keepers = keepersOf(asked, ({ stores }) => stores.metrics);
      let missed = {};
      const report = await metricsOf(asked[0]!, request, async (read) => {
        const { answers, ...rest } = await askEach(keepers, ({ stores }) => read(stores.metrics!));
        missed = rest;
        return answers.map(({ answer }) => answer);
      });
      return { ...report, ...missed };
    },
    async batch(name: string, items: Items<unknown>, options: AnyBatchOptions): Promise<Batch> {
      const { sendBatch } = await code();
      const backend = homeOfBatch(app, options);
      // A batch with the caller's own id may already have been started on the first backend.
      const pair = options?.id === undefined ? pairOf(backend) : null;
      const home = pair ? await homeOnEither(pair) : clientAt(backend);
      return sendBatch(home, name, items, options);
    },
    async chain(
      links: readonly unknown[],
      payload: unknown,
      options: ChainOptions = {},
    ): Promise<StartedChain> {
      const { sendChain } = await code();
      const backend = homeOfChain(app, links);
      const pair = options.tx === undefined ? pairOf(backend) : null;
      if (!pair) return sendChain(clientAt(backend), links, payload, options);
      const id = options.id ?? app.newId(); // the same id on both backends
      const start = (client: Client) => sendChain(client, links, payload, { ...options, id });
      return startOnEither(pair, start, ({ ids }) => [ids[0] ?? []].flat());
    },
    async sending(job: Job, options: EnqueueOptions) {
      const name = nameOf(job, options);
      return { name, client: sendingTo(name) };
    },
    async close(): Promise<void> {
      const ended = await Promise.allSettled([...clients.values()].map((client) => client.close()));
      for (const end of ended) if (end.status === 'rejected') throw end.reason;
    },
  };
}

function withoutBackend(each: JobsToEnqueue[number]): JobsToEnqueue[number] {
  if (each?.options?.backend === undefined) return each;
  const { backend: _, ...options } = each.options;
  return { ...each, options };
}

/** The watch of a store that does not report ends. */
const notWatched = { hears: false, stop() {} };

const refused = (error: LongshoreError): SendResult => ({ ok: false, id: '', error });

const isKnown = (answer: JobRecord | CancelResult | null): boolean => answer !== null && answer !== 'unknown';
