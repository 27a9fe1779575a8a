/** A queue with all its users: senders, two workers, and an observer. */

import type { Clock } from '../../../core/base/clock.ts';
import type { QueueBackend, SqlTransaction } from '../../../core/contract/queue.ts';
import type { JobRecord, PayloadStore } from '../../../core/contract/store.ts';
import { createOperator, type Operator } from '../../../core/operations/index.ts';
import {
  type Address,
  type AppParts,
  createProcess,
  type EveryJob,
  type Process,
  type Run,
} from './process.ts';
import type { Sample, Seen, Sent, SentJob } from './sample.ts';
import { createTimeline, type Timeline } from './timeline.ts';

export interface MeetingBench {
  /** The same storage, opened once per process. If there are fewer, processes share. */
  readonly openings: readonly QueueBackend[];
  /** Begins a transaction for a sender. Absent = the queue has no transactions. */
  begin?(): Promise<SenderTransaction>;
  close(): Promise<void> | void;
}

export interface SenderTransaction {
  readonly tx: SqlTransaction;
  commit(): Promise<unknown>;
  rollback(): Promise<unknown>;
}

export interface MeetingHarness {
  /** @param during stops virtual time until a server has answered */
  open(clock: Clock, during: (answer: Promise<unknown>) => unknown): Promise<MeetingBench>;
  /** Real time within which a server sends its messages. @default no server */
  readonly latencyMs?: number;
  /** A call to the server without effect, so that time stands still while the server is slow. */
  echo?(): Promise<unknown>;
  /** The queue may refuse a sample or an event with CONFIG, which ends the meeting. */
  readonly mayRefuse?: true;
  /** The queue does not detect duplicate messages. */
  readonly takesTwice?: true;
  /** Maximum time until a waiting job tries again, if the queue cannot wake it. @default 0 */
  readonly asksAgainMs?: number;
}

export interface World extends Seen {
  readonly sample: Sample;
  readonly timeline: Timeline;
  readonly runs: Run[];
  readonly rounds: Map<string, Sent>;
  sender: Process;
  people: Process;
  /** Empty until the workers start. */
  readonly workers: Process[];
  /** The job that events affect; `null` = none was sent yet. */
  readonly target: SentJob | null;
  /** Labels whose handlers fail. */
  readonly failing: Set<string>;
  readonly gone: Set<string>;
  readonly undone: Set<string>;
  /** Ids of jobs that were cancelled after their handlers had begun. */
  readonly stopped: Set<string>;
  /** Ids of jobs that may become dead letters. */
  readonly mayDie: Set<string>;
  /** Ids of dead letters whose retry was confirmed. */
  readonly mended: Set<string>;
  readonly changed: Map<string, number>;
  /** Ids of jobs with a confirmed new time: elapsed ms. */
  readonly times: Map<string, number>;
  /** Records of ended jobs were removed. */
  purged: boolean;
  /** The queue does not detect duplicate messages. */
  readonly takesTwice: boolean;
  /** Number of sends that were repeated or doubled. */
  resent: number;
  /** Calls are refused while this returns `true`. */
  isAway: (call: string, by: string) => boolean;
  /** Address for processes that are started without one; `null` = the storage. */
  address: Address | null;
  /** Handlers run in threads. */
  isIsolated: boolean;
  everyJob: EveryJob;
  /** The sender sends each round in a transaction of its own. */
  sendsInTransaction: boolean;
  /** Codes of refused calls. */
  readonly refused: Set<string>;
  /** @param parts parts of its app. @default those of the feature */
  start(name: string, at?: Address, parts?: (self: Process) => AppParts): Process;
  /** Opens the storage once more, without a gate. */
  opening(): QueueBackend;
  /** Processes that start from now on connect to another storage; resolves with it. */
  anotherPlace(): Promise<QueueBackend>;
  /** Ends `anotherPlace`. */
  backHome(): void;
  /** `null` = the queue has no transactions. */
  begin(): Promise<SenderTransaction | null>;
  startWorkers(): void;
  send(by: Process, round: string): Promise<void>;
  /** Waits for work of processes while time passes. */
  soon<T>(work: Promise<T>, mostMs?: number): Promise<T>;
  pass(ms: number): Promise<void>;
  operator(): Operator;
  records(): Promise<readonly JobRecord[]>;
  processOf(run: Run): Process;
  close(): Promise<void>;
}

const longestSendMs = 600_000;

export async function openWorld(
  sample: Sample,
  harness: MeetingHarness,
  refused: Set<string>,
): Promise<World> {
  const timeline = createTimeline(harness.latencyMs, harness.echo);
  const during = (answer: Promise<unknown>) => void timeline.during(answer).catch(() => {});
  const benches = [await harness.open(timeline.clock, during)];
  const processes = new Map<string, Process>();
  const payloads = new Map<string, Uint8Array>();
  let ids = 0;

  const world: World = {
    ...{ sample, timeline, payloads, runs: [], rounds: new Map(), workers: [], failing: new Set() },
    ...{
      gone: new Set(),
      undone: new Set(),
      stopped: new Set(),
      mayDie: new Set(),
      mended: new Set(),
      changed: new Map(),
      times: new Map(),
    },
    takesTwice: harness.takesTwice ?? false,
    ...{ purged: false, resent: 0, address: null, isIsolated: sample.isolates ?? false },
    ...{ everyJob: {}, sendsInTransaction: false, refused },
    sender: undefined as never,
    people: undefined as never,
    isAway: () => false,
    get target() {
      return world.rounds.get('1')?.jobs[0] ?? null;
    },
    opening() {
      const { openings } = benches.at(-1)!;
      return openings[processes.size % openings.length]!;
    },
    async anotherPlace() {
      benches.push(await harness.open(timeline.clock, during));
      return world.opening();
    },
    begin: async () => (await benches.at(-1)!.begin?.()) ?? null,
    backHome() {
      benches.unshift(benches.pop()!);
    },
    start(name, at = world.address ?? world.opening(), parts = sample.parts) {
      const made = createProcess({
        ...{ name, timeline, address: at, runs: world.runs, failing: world.failing, parts },
        isIsolated: world.isIsolated,
        everyJob: world.everyJob,
        newId: () => `id-${String(++ids).padStart(4, '0')}`,
        isAway: (call) => world.isAway(call, name),
        store: sample.offloads ? { payloads: inMemory(payloads) } : {},
        ticks: sample.ticks ?? false,
      });
      processes.set(name, made);
      return made;
    },
    startWorkers() {
      for (const name of world.isIsolated && !sample.isolates ? ['worker A'] : ['worker A', 'worker B'])
        world.workers.push(world.start(name));
      for (const worker of world.workers) worker.startWorker();
    },
    async send(by, round) {
      for (;;) {
        const sent = await world.soon(sendBy(by, round).catch((error: Error) => error));
        if (!(sent instanceof Error)) return void world.rounds.set(round, sent);
        if ((sent as { code?: string }).code !== 'BACKEND' || ++world.resent > 100) throw sent;
        await world.pass(1_000);
      }
    },
    async soon(work, mostMs = longestSendMs) {
      let isOver = false;
      const over = work.finally(() => {
        isOver = true;
        timeline.stir();
      });
      over.catch(() => {});
      if (await timeline.until(() => isOver, mostMs)) return over;
      throw new Error(`No answer within ${mostMs} ms.`);
    },
    pass: async (ms) => void (await timeline.until(() => false, ms)),
    operator: () => createOperator(world.people.home, { actor: 'somebody', from: 'the law of meetings' }),
    records: () => recordsOf(world.people),
    processOf: ({ by }) => processes.get(by)!,
    async close() {
      for (const one of processes.values()) one.kill();
      for (const bench of benches) await bench.close();
    },
  };
  async function sendBy(by: Process, round: string): Promise<Sent> {
    const transaction = world.sendsInTransaction ? await world.begin() : null;
    if (!transaction) return sample.send(by, round);
    by.tx = transaction.tx;
    const sent = await sample.send(by, round);
    by.tx = undefined;
    await transaction.commit();
    return sent;
  }

  // Not a spread, which would read `target` only once.
  Object.assign(world, { sender: world.start('sender'), people: world.start('people') });
  return world;
}

export async function recordsOf({ clients }: Pick<Process, 'clients'>): Promise<JobRecord[]> {
  const lists = clients.map(({ stores }) => stores.records.page({ max: 1_000 }));
  return (await Promise.all(lists)).flatMap(({ records }) => records);
}

const inMemory = (kept: Map<string, Uint8Array>): PayloadStore => ({
  put: async (key, bytes) => void kept.set(key, bytes),
  get: async (key) => kept.get(key) ?? null,
  delete: async (key) => void kept.delete(key),
});
