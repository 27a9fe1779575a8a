/** A queue with everybody who uses it: senders, two workers, and people who look. */

import type { Clock } from '../../../core/base/clock.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { JobRecord } from '../../../core/contract/store.ts';
import type { Feature, Seen, Sent, SentJob } from './feature.ts';
import { createProcess, type Process, type Run } from './process.ts';
import { createTimeline, type Timeline } from './timeline.ts';

export interface MeetingBench {
  /** The same storage, opened as often as there are processes, or fewer: then they share. */
  readonly openings: readonly QueueBackend[];
  close(): Promise<void> | void;
}

export interface MeetingHarness {
  open(clock: Clock): Promise<MeetingBench>;
}

export interface World extends Seen {
  readonly feature: Feature;
  readonly timeline: Timeline;
  readonly runs: Run[];
  readonly sender: Process;
  readonly workers: readonly [Process, Process];
  /** Everything that was sent, by round. */
  readonly rounds: Map<string, Sent>;
  /** The first round's. */
  readonly jobs: readonly SentJob[];
  /** Labels whose handlers fail. */
  readonly failing: Set<string>;
  /** Ids of jobs of which people were told that they will not run. */
  readonly gone: Set<string>;
  /** Sends that were refused, and made again. */
  resent: number;
  /** While it answers `true`, calls like this one are refused. */
  isAway: (call: string, by: string) => boolean;
  start(name: string): Process;
  send(by: Process, round: string): Promise<void>;
  /** Waits for something that processes do, while time goes on. */
  soon<T>(work: Promise<T>, mostMs?: number): Promise<T>;
  records(): Promise<readonly JobRecord[]>;
  processOf(run: Run): Process;
  close(): Promise<void>;
}

const longestSendMs = 600_000;

export async function openWorld(feature: Feature, harness: MeetingHarness): Promise<World> {
  const timeline = createTimeline();
  const bench = await harness.open(timeline.clock);
  const processes = new Map<string, Process>();
  const runs: Run[] = [];
  const failing = new Set<string>();
  const rounds = new Map<string, Sent>();
  let ids = 0;

  function start(name: string): Process {
    const backend = bench.openings[processes.size % bench.openings.length]!;
    const made = createProcess({
      ...{ name, timeline, backend, runs, failing, app: feature.app },
      newId: () => `id-${String(++ids).padStart(4, '0')}`,
      isAway: (call) => world.isAway(call, name),
    });
    processes.set(name, made);
    return made;
  }

  const world: World = {
    ...{ feature, timeline, runs, rounds, failing, start },
    sender: undefined as never,
    workers: undefined as never,
    people: undefined as never,
    gone: new Set(),
    resent: 0,
    isAway: () => false,
    get jobs() {
      return rounds.get('1')?.jobs ?? [];
    },
    async send(by, round) {
      for (;;) {
        const sent = await world.soon(feature.send(by, round).catch((error: Error) => error));
        if (!(sent instanceof Error)) return void rounds.set(round, sent);
        if ((sent as { code?: string }).code !== 'BACKEND' || ++world.resent > 100) throw sent;
        await world.soon(new Promise<void>((resolve) => by.clock.after(1_000, resolve)));
      }
    },
    async soon(work, mostMs = longestSendMs) {
      let isOver = false;
      const over = work.finally(() => {
        isOver = true;
        timeline.stir();
      });
      over.catch(() => {});
      if (!(await timeline.until(() => isOver, mostMs)))
        throw new Error(`Nobody has answered within ${mostMs} ms.`);
      return over;
    },
    records: () => world.people.client.stores.records.list({ max: 1_000 }),
    processOf: ({ by }) => processes.get(by)!,
    async close() {
      for (const one of processes.values()) one.kill();
      await bench.close();
    },
  };
  return Object.assign(world, {
    sender: start('sender'),
    workers: [start('worker A'), start('worker B')] as const,
    people: start('people'),
  });
}
