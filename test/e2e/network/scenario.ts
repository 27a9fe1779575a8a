/**
 * Three workers and a producer that nobody starts again, each behind a network of its own that breaks one connection after the other.
 * A worker that is killed is replaced by a new process, which has new connections: only those that live on show what they keep of
 * broken ones.
 */

import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { connect, createApp, defineJob, fixed, keyRing, startWorker } from '../../../core/index.ts';
import { type Fate, type Fault, type Network, startNetwork } from '../../kit/network/faults.ts';
import { until } from '../../kit/until.ts';

const workers = 3;
const keys = 50;
/** Jobs that the producer may be ahead of the workers. */
const mostAhead = 200;
/** Of each kind, that each worker and the producer have to stand. */
const faultsOfAKind = 4;
const leaseMs = 4_000;
/** Shorter than in life, so that a server which falls silent is given up while the test looks on. */
export const silenceMs = 500;
/** Some are told within `silenceMs`, others when they have given up. */
const longestHoldMs = 1_500;
/** Within these a connection has just been opened, or has done some work. */
const firstBytes = 2_000;
const laterBytes = 20_000;
/** For what only hangs: healed networks bring all back within seconds. */
const withinMs = 30_000;

export interface NetworkSite {
  /** Where the server is reached without any faults. */
  url(): Promise<string>;
  /** A backend with connections of its own. All of them share their stores. */
  open(url: string): QueueBackend;
  /** After so long it is told of a connection that is silent, because it gives none up so soon by itself. */
  readonly toldAfterMs?: number;
  /** Follows the test. */
  clear(): Promise<unknown>;
}

const kinds: readonly Fault[] = ['reset', 'drop', 'hold', 'half-open', 'end'];

/** Numbers from 0 to 1 that look random: the same for the same seed (mulberry32). */
function numbersOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What happens to the first connection, the second, and so on. All kinds come equally often. */
function planOf(seed: number, told: Pick<Fate, 'toldAfterMs'>): () => Fate {
  const random = numbersOf(seed);
  let left: Fault[] = [];
  return () => {
    if (left.length === 0) left = [...kinds];
    const [fault] = left.splice(Math.floor(random() * left.length), 1);
    const most = random() < 0.5 ? firstBytes : laterBytes;
    return {
      fault: fault!,
      afterBytes: Math.floor(random() * most),
      holdMs: random() * longestHoldMs,
      ...told,
    };
  };
}

export function describeNetwork(name: string, site: NetworkSite, seed = 1): void {
  const networks: Network[] = [];
  const told = site.toldAfterMs === undefined ? {} : { toldAfterMs: site.toldAfterMs };

  async function behindFaults(url: string): Promise<QueueBackend> {
    const network = await startNetwork(url, planOf(seed * 100 + networks.length, told));
    networks.push(network);
    return site.open(network.url);
  }

  afterEach(async () => {
    for (const network of networks.splice(0)) await network.close();
    await site.clear();
  });

  describe(`workers and a producer on ${name} whose network drops, cuts, holds and half-opens connections`, () => {
    it(`lose no job, and all of them are back when it has healed (seed ${seed})`, async () => {
      const url = await site.url();
      /** The numbers of those that had their effect, and of those that were confirmed. */
      const plainDone = new Set<number>();
      const keyedDone = new Set<number>();
      const keyedSent = new Set<number>();
      let plainSent = 0;
      const atWork = new Set<number>();
      const running = new Set<number>();
      let overlaps = 0;
      const common = { payload: z.object({ n: z.number() }), maxRetries: 1_000, retry: fixed(50) };
      const plain = defineJob({
        ...common,
        name: 'plain',
        handle: ({ n }) => delay(5).then(() => void plainDone.add(n)),
      });
      const keyed = defineJob({
        ...common,
        name: 'keyed',
        idempotencyKey: ({ n }) => `key-${n}`,
        async handle({ n }) {
          if (running.has(n)) overlaps++;
          running.add(n);
          await delay(5);
          running.delete(n);
          keyedDone.add(n);
        },
      });
      /** Each is in a queue that only one worker looks at. */
      const own = Array.from({ length: workers }, (_, n) =>
        defineJob({ ...common, name: `own-${n}`, queue: `own-${n}`, handle: () => void atWork.add(n) }),
      );
      const app = createApp({
        jobs: [plain, keyed, ...own],
        signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]),
      });
      const observer = site.open(url);
      const calm = connect(app, observer);
      const backends = [];
      for (let i = 0; i <= workers; i++) backends.push(await behindFaults(url));
      const producer = connect(app, backends[workers]!);
      const sendPlain = (n: number) => producer.enqueue(plain, { n }).then(() => n);
      const sendKeyed = (n: number) => producer.enqueue(keyed, { n }).then(() => n);
      const crew = backends.slice(0, workers).map((backend, n) =>
        startWorker(app, {
          backend,
          queues: ['default', `own-${n}`],
          concurrency: 5,
          leaseMs,
          drainMs: 1_000,
        }),
      );

      // As long as the faults last there is work, so that their connections carry something.
      const isBad = () => networks.some(({ faults }) => faults < faultsOfAKind * kinds.length);
      const isAhead = () => plainSent > plainDone.size + mostAhead;
      const endsAt = performance.now() + withinMs;
      for (let n = 0; isBad() && performance.now() < endsAt; n++) {
        try {
          // A job that was not confirmed may have been sent all the same: its number is sent again.
          if (n % 5 === 0) keyedSent.add(await sendKeyed((n / 5) % keys));
          else plainSent = (await sendPlain(plainSent)) + 1;
        } catch {
          // The next one finds a new connection, or waits for it.
        }
        if (isAhead()) await until(() => !isAhead() || !isBad(), withinMs);
      }
      const met = networks.map(({ faults }) => faults);
      for (const network of networks) network.heal();

      await until(
        () =>
          sendPlain(plainSent)
            .catch(() => null)
            .then((n) => n !== null),
        withinMs,
      );
      for (const job of own) await calm.enqueue(job, { n: 0 });
      await until(() => atWork.size === workers, withinMs).catch(() => {});
      expect([...atWork].sort(), 'workers that are at work').toEqual([...crew.keys()]);
      await until(async () => {
        const [stats] = await observer.admin!.stats('default');
        return stats!.ready + stats!.delayed + stats!.leased === 0;
      }, withinMs);

      const summaries = await Promise.all(crew.map((worker) => worker.stop()));
      expect(summaries.map(({ reason }) => reason)).toEqual(crew.map(() => 'stopped'));
      const lost = Array.from({ length: plainSent + 1 }, (_, n) => n).filter((n) => !plainDone.has(n));
      expect([lost, [...keyedSent].filter((n) => !keyedDone.has(n))], 'jobs that were lost').toEqual([
        [],
        [],
      ]);
      expect(overlaps).toBe(0);
      expect(await observer.admin!.deadLetters.list({})).toEqual([]);
      for (const faults of met) expect(faults).toBeGreaterThanOrEqual(faultsOfAKind * kinds.length);
      for (const backend of [...backends, observer]) await backend.close();
    });
  });
}
