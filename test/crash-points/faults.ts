/** One process's way to its backend and stores: every call has a number, and one of them goes wrong. */

import { LongshoreError } from '../../core/base/errors.ts';
import type { QueueBackend } from '../../core/contract/queue.ts';
import type { ProcessClock, SimClock } from './sim-clock.ts';

/**
 * A call may go wrong in six ways:
 * - `before`   the process dies before it
 * - `after`    the process dies when it is done, before the answer
 * - `refused`  it fails, and nothing was done
 * - `lost`     it is done, and its answer is lost: the caller gets an error
 * - `frozen`   the process stands still for two minutes before it, and goes on then
 * - `twice`    it is done twice, and the second answer counts
 */
export const faultKinds = ['before', 'after', 'refused', 'lost', 'frozen', 'twice'] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface Fault {
  /** The first call is 1. */
  readonly call: number;
  readonly kind: FaultKind;
}

export const frozenMs = 120_000;

/** They change nothing, so an answer that is lost is one that is refused. */
const reads =
  /^(stores\.\w+\.(get|list|page|payload|body|read|due|unended|failed|waitsFor|cancelRequested)|admin\.(stats|peek)|admin\.deadLetters\.list|pending\.read|now)$/;

/** They decide nothing about a job, and come every few seconds. */
const unnumbered = /^(stores\.(workers|metrics|audit)\.|stores\.\w+\.(purge|close)$|close$)/;

/** They answer at once, and ask no server. */
const direct = /^(keepsOrder|onWarning|hints\.watchLeases|stores\.records\.watchEnd)$/;

/** Members that have verbs of their own. */
const parts = /^(stores|admin|pending|hints|stores\.\w+|admin\.deadLetters)$/;

export function kindsFor(name: string): readonly FaultKind[] {
  return reads.test(name) ? ['before', 'refused', 'frozen'] : faultKinds;
}

/** The points of a run worth a fault: not each of many looks at the same that nothing comes between. */
export function pointsOf(calls: readonly string[]): Fault[] {
  return calls.flatMap((name, i) => {
    const isRepeated = polls.test(name) && calls.slice(Math.max(0, i - 3), i).includes(name);
    return isRepeated ? [] : kindsFor(name).map((kind) => ({ call: i + 1, kind }));
  });
}

const polls = /^(fetch|reapExpired|stores\.\w+\.(cancelRequested|toCheck|due|list|get))$/;

export interface Process {
  readonly name: string;
  readonly clock: ProcessClock;
  readonly backend: QueueBackend;
  /** The numbered calls so far. */
  readonly calls: readonly string[];
  readonly alive: boolean;
  /** When its fault came; `null` = it has not come yet. */
  readonly faultedAt: number | null;
  kill(): void;
}

export function createProcess(
  name: string,
  sim: SimClock,
  clock: ProcessClock,
  raw: QueueBackend,
  fault: Fault | null,
  onSettled: (bodies: readonly string[]) => void,
): Process {
  const calls: string[] = [];
  const death = new AbortController();
  let alive = true;
  let thawAt = 0;
  let faultedAt: number | null = null;

  function kill(): void {
    alive = false;
    clock.kill();
    death.abort();
    sim.stir();
  }

  const never = new Promise<never>(() => {});

  async function thawed(): Promise<void> {
    while (alive && sim.now() < thawAt)
      await new Promise<void>((resolve) => clock.after(thawAt - sim.now(), resolve));
  }

  async function call(path: string, run: (...args: unknown[]) => unknown, args: unknown[]): Promise<unknown> {
    if (!alive) return never;
    await thawed();
    sim.stir();
    const isNumbered = !unnumbered.test(path);
    if (isNumbered) calls.push(path);
    const kind = isNumbered && fault?.call === calls.length ? fault.kind : null;
    if (kind !== null) faultedAt = sim.now();
    if (kind === 'before') kill();
    if (kind === 'frozen') {
      thawAt = sim.now() + frozenMs;
      clock.freezeUntil(thawAt);
      await thawed();
    }
    if (!alive) return never;
    if (kind === 'refused') throw new LongshoreError('BACKEND', `${path} was refused`);
    const own = withDeath(args);
    if (kind === 'twice') settled(path, own, await run(...own));
    const answer = await run(...own);
    settled(path, own, answer);
    sim.stir();
    if (kind === 'after') kill();
    await thawed();
    if (!alive) return never;
    if (kind === 'lost') throw new LongshoreError('BACKEND', `the answer to ${path} was lost`);
    return answer;
  }

  /** A wait of a process ends with it. */
  function withDeath(args: unknown[]): unknown[] {
    return args.map((arg) => {
      if (typeof arg !== 'object' || arg === null || !('waitMs' in arg)) return arg;
      const { signal } = arg as { signal?: AbortSignal };
      return { ...arg, signal: signal ? AbortSignal.any([signal, death.signal]) : death.signal };
    });
  }

  function settled(path: string, [acks]: unknown[], answer: unknown): void {
    if (path !== 'ack' && path !== 'hints.ackAndFetch') return;
    const done = path === 'ack' ? (answer as boolean[]) : (answer as { settled: boolean[] }).settled;
    const bodies = (acks as { lease: { body: string } }[]).map(({ lease }) => lease.body);
    onSettled(bodies.filter((_, i) => done[i]));
  }

  function wrap<T extends object>(target: T, path: string): T {
    const members = new Map<PropertyKey, unknown>();
    return new Proxy(target, {
      get(_, key) {
        if (!members.has(key)) members.set(key, member(target, Reflect.get(target, key), path + String(key)));
        return members.get(key);
      },
    });
  }

  function member(target: object, value: unknown, at: string): unknown {
    if (typeof value === 'function')
      return direct.test(at)
        ? value.bind(target)
        : (...args: unknown[]) => call(at, value.bind(target), args);
    return value && parts.test(at) ? wrap(value as object, `${at}.`) : value;
  }

  return {
    name,
    clock,
    backend: wrap(raw, ''),
    calls,
    get alive() {
      return alive;
    },
    get faultedAt() {
      return faultedAt;
    },
    kill,
  };
}
