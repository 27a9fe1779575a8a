/** One scenario, once: a process that a fault comes to at one call, another one that finishes, and what people could see of it. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { QueueBackend } from '../../core/contract/queue.ts';
import type { Stores } from '../../core/contract/store.ts';
import { keyRing } from '../../core/envelope/signing.ts';
import { createApp } from '../../core/features/table.ts';
import type { App } from '../../core/kernel/app/app.ts';
import type { Middleware } from '../../core/kernel/app/middleware.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';
import { connect } from '../../core/routing/connect.ts';
import { memory } from '../../local/backends/memory/index.ts';
import { sqlite } from '../../local/backends/sqlite/index.ts';
import { startLocal } from '../../local/start.ts';
import { complaintsOf } from './check.ts';
import { createProcess, type Fault, frozenMs, type Process } from './faults.ts';
import { createSimClock, type ProcessClock, type SimClock } from './sim-clock.ts';
import type { Did, Effect, Kind, Mutation, Outcome, Scenario } from './types.ts';

const leaseMs = 30_000;
const minute = 60_000;
const stepMs = 1_000;
const signing = keyRing([{ kid: 'law', secret: new Uint8Array(32).fill(7) }]);

export async function run(
  scenario: Scenario,
  kind: Kind,
  fault: Fault | null,
  mutation: Mutation = {},
): Promise<Outcome> {
  const sim = createSimClock();
  const storage = open(kind, sim, scenario.payloads === true);
  const effects: Effect[] = [];
  const done = new Set<string>();
  const again: string[] = [];
  const processes: Process[] = [];
  let ids = 0;

  function start(
    name: string,
    its: Fault | null,
    clock = sim.processClock(),
    raw = mutated(storage.backend(clock), mutation),
  ): { process: Process; app: App; client: Client } {
    const process = createProcess(name, sim, clock, raw, its, (bodies) => {
      for (const body of bodies) done.add((JSON.parse(body) as { identifier: string }).identifier);
    });
    const did: Did = (what, by) => {
      if (!process.alive) return;
      effects.push({ what, id: by.id, at: sim.now() });
    };
    const begins: Middleware = (ctx, next) => {
      if (process.alive && done.has(ctx.id)) again.push(`${ctx.job} ${ctx.id}`);
      return next();
    };
    const made = createApp({ ...scenario.app(did, clock), signing, clock, use: [begins] });
    // Chance and ids are the same in each run, so that a call keeps its number.
    const app: App = { ...made, random: () => 0.5, newId: () => `${name}-${++ids}` };
    processes.push(process);
    return { process, app, client: connect(app, process.backend, storage.beside) };
  }

  function work(app: App, backend: QueueBackend): void {
    const { concurrency = 4 } = scenario;
    const options = { backend, concurrency, leaseMs, signals: [], logger: false, ...storage.beside } as const;
    void startLocal(app, options).catch(() => {
      // A start that the fault has met is made again, as supervisors do.
      app.clock.after(stepMs, () => work(app, backend));
    });
  }

  /** Again and again until it has succeeded. */
  function act({ client, app }: { client: Client; app: App }, then: () => void): void {
    void scenario.act!(client).then(
      then,
      () => void app.clock.after(stepMs, () => act({ client, app }, then)),
    );
  }

  const bystander = sim.processClock();
  const raw = storage.backend(bystander);
  const observer = start('observer', null, bystander, raw);
  await scenario.begin?.(observer.client);

  const first = start('first', fault);
  let acted = scenario.act === undefined;
  const hasActed = () => {
    acted = true;
  };
  work(first.app, first.process.backend);
  await sim.runUntil(sim.now() + 10);
  if (!acted) act(first, hasActed);

  const startedAt = sim.now();
  let second: ReturnType<typeof start> | null = null;
  let overAt: number | null = null;
  let calls: number | null = null;

  /** When all must have ended. */
  const latest = () => {
    const faultedAt = first.process.faultedAt ?? startedAt;
    const standsMs = fault?.kind === 'frozen' ? frozenMs : 0;
    return Math.max(startedAt, faultedAt) + (scenario.askedMs ?? 0) + standsMs + leaseMs + minute;
  };

  while (sim.now() < latest() + 2 * minute) {
    await sim.runUntil(sim.now() + stepMs);
    const isGone = !first.process.alive || (fault?.kind === 'frozen' && first.process.faultedAt !== null);
    if (isGone && !second) {
      second = start('second', null);
      work(second.app, second.process.backend);
      if (!acted && !first.process.alive) act(second, hasActed);
    }
    if (overAt === null && acted && (await isOver())) {
      overAt = sim.now();
      calls = first.process.calls.length;
    }
    if (overAt === null && sim.now() > latest()) break;
    // A frozen process comes back, and must do no harm then.
    const thawed = fault?.kind === 'frozen' ? (first.process.faultedAt ?? 0) + frozenMs + 2 * stepMs : 0;
    if (overAt !== null && sim.now() >= Math.max(overAt + 2 * stepMs, thawed)) break;
  }

  async function isOver(): Promise<boolean> {
    const seen = new Set(effects.map(({ what }) => what));
    const missing = scenario.effects.filter((what) => !seen.has(what)).length;
    const letters = scenario.mayDie ? await raw.admin!.deadLetters.list({}) : [];
    if (missing > letters.length || scenario.isEnough?.(effects) === false) return false;
    if (scenario.endless) return true;
    const stats = await raw.admin!.stats();
    return stats.every(({ ready, delayed, leased }) => ready + delayed + leased === 0);
  }

  // The slots of an attempt whose worker died end with its lease.
  const usesSlots = async () =>
    (await raw.stores!.limits!.list({})).some(({ key, used }) => key.includes(':concurrency:') && used > 0);
  if (overAt !== null && (await usesSlots())) await sim.runUntil(sim.now() + leaseMs + stepMs);
  const complaints = [
    ...(await complaintsOf({ scenario, effects, again, client: observer.client, backend: raw })),
  ];
  if (overAt === null) complaints.unshift(`not over after ${(sim.now() - startedAt) / 1_000} s`);
  if (!acted) complaints.unshift('what the scenario does never succeeded');
  const called = first.process.calls[(fault?.call ?? 0) - 1] ?? '';
  const isDeclared = (text: string) =>
    scenario.declared?.some(
      (it) => it.kind === fault?.kind && it.call.test(called) && it.complaint.test(text),
    );
  for (const process of processes) process.kill();
  await storage.close();
  return {
    calls: first.process.calls.slice(0, calls ?? undefined),
    complaints: complaints.filter((text) => !isDeclared(text)),
  };
}

function mutated(backend: QueueBackend, { withoutBatchLooks }: Mutation): QueueBackend {
  if (!withoutBatchLooks) return backend;
  const { batches } = backend.stores!;
  return { ...backend, stores: { ...backend.stores!, batches: { ...batches!, toCheck: async () => [] } } };
}

interface Storage {
  /** As another process opens it. */
  backend(clock: ProcessClock): QueueBackend;
  readonly beside: { readonly store?: Partial<Stores> };
  close(): Promise<void>;
}

function open(kind: Kind, sim: SimClock, withPayloads: boolean): Storage {
  const beside = withPayloads ? { store: { payloads: payloadsInMemory() } } : {};
  if (kind === 'memory') {
    const backend = memory({ clock: sim.processClock(), maxBodyBytes: 16_384 });
    return { backend: () => backend, beside, close: backend.close };
  }
  const folder = mkdtempSync(join(tmpdir(), 'longshore-'));
  const opened: QueueBackend[] = [];
  return {
    beside,
    backend(clock) {
      const one = sqlite({ path: join(folder, 'jobs.db'), clock, pollMs: 1_000, maxBodyBytes: 16_384 });
      opened.push(one);
      return one;
    },
    async close() {
      for (const one of opened) await one.close();
      rmSync(folder, { recursive: true });
    },
  };
}

function payloadsInMemory(): NonNullable<Stores['payloads']> {
  const kept = new Map<string, Uint8Array>();
  return {
    async put(key, bytes) {
      kept.set(key, bytes);
    },
    get: async (key) => kept.get(key) ?? null,
    async delete(key) {
      kept.delete(key);
    },
  };
}
