/** The stored steps of a job: one text, which only the latest attempt may write. */

import type { Clock } from '../../base/clock.ts';
import { LongshoreError, PermanentError } from '../../base/errors.ts';
import type { StepStore, StepText } from '../../contract/derived/steps.ts';
import { type Swap, swap } from '../../kit/records/swap.ts';

/** A step that has ended, with its result. */
export interface DoneStep {
  readonly name: string;
  /** When it ended, epoch ms. */
  readonly at: number;
  readonly value?: unknown;
}

export interface SleepStep {
  readonly name: string;
  /** When it began. */
  readonly at: number;
  readonly until: number;
}

export interface WaitStep extends SleepStep {
  readonly event: string;
  readonly key: string | null;
  /** The received event. */
  readonly got?: { readonly payload?: unknown; readonly at: number };
  /** No event came in time. */
  readonly over?: true;
}

export type RememberedStep = DoneStep | SleepStep | WaitStep;

export interface StoredLog {
  /** A digest of the token of the lease that may write. */
  readonly owner: string;
  readonly attempt: number;
  /** The original end of that lease. */
  readonly leaseUntil: number;
  readonly steps: readonly RememberedStep[];
}

export interface LogOwner {
  readonly id: string;
  readonly owner: string;
  readonly attempt: number;
  readonly leaseUntil: number;
}

type Change = (step: RememberedStep | undefined) => RememberedStep;

interface Put {
  readonly name: string;
  readonly change: Change;
}

interface WaitingPut extends Put {
  readonly resolve: (written: RememberedStep | null) => void;
  readonly reject: (error: unknown) => void;
}

/** The stored step; `null` = another attempt has the job; an error = the steps would be too large. */
type Written = RememberedStep | PermanentError | null;

/** The most bytes of a signature: the longest `kid`, and the digits. */
const sealBytes = 256;
/** The most bytes of a job's steps: a store may hold no more, with the signature, in one item. */
export const mostBytes = 262_144 - sealBytes;
/** Longer than dead letters are kept, for steps of jobs whose end was never seen. */
const keepMs = 100 * 86_400_000;

export const nameOfJob = (id: string): string => `job:${id}`;

export const isWait = (step: RememberedStep): step is WaitStep => 'event' in step;
export const isSleep = (step: RememberedStep): step is SleepStep => 'until' in step && !isWait(step);
/** Whether an event may still arrive for it. */
export const isOpen = (step: RememberedStep, now: number): step is WaitStep =>
  isWait(step) && step.got === undefined && !step.over && step.until > now;

export const stepsIn = (text: string | null): readonly RememberedStep[] =>
  text === null ? [] : (JSON.parse(text) as StoredLog).steps;

/** Adds the step, or replaces the one with its name. */
const withStep = (steps: readonly RememberedStep[], step: RememberedStep): RememberedStep[] =>
  steps.some(({ name }) => name === step.name)
    ? steps.map((one) => (one.name === step.name ? step : one))
    : [...steps, step];

export function swapped<T>(answer: T, log: StoredLog, now: number): Swap<T> {
  const lastEnd = log.steps.reduce((end, step) => Math.max(end, 'until' in step ? step.until : 0), now);
  return { answer, text: JSON.stringify(log), endsAt: Math.ceil(lastEnd + keepMs) };
}

/** The steps of one job, for one attempt. */
export class StepLog {
  readonly #store: StepStore;
  readonly #clock: Clock;
  readonly #who: LogOwner;
  #known: StepText | null = null;
  #steps: readonly RememberedStep[] = [];
  /** One write at a time: each overwrites the previous one. */
  #last: Promise<unknown> = Promise.resolve();
  readonly #waiting: WaitingPut[] = [];

  private constructor(store: StepStore, clock: Clock, who: LogOwner) {
    this.#store = store;
    this.#clock = clock;
    this.#who = who;
  }

  /**
   * Opens the log; from then on only this owner may write. `null` = a later attempt has the job, because this one woke up late. If an attempt
   * with a lower number has a lease that ends later, the job has started again, as a retried dead letter does.
   */
  static async open(store: StepStore, clock: Clock, who: LogOwner): Promise<StepLog | null> {
    const log = new StepLog(store, clock, who);
    const { id, ...owner } = who;
    const { answer, now } = await swap(store, nameOfJob(id), undefined, (text) => {
      const found = text === null ? null : (JSON.parse(text) as StoredLog);
      if (found && who.attempt < found.attempt && who.leaseUntil <= found.leaseUntil)
        return { answer: false };
      return swapped(true, { ...owner, steps: found?.steps ?? [] }, clock.now());
    });
    log.#keep(now);
    return answer ? log : null;
  }

  get steps(): readonly RememberedStep[] {
    return this.#steps;
  }

  find(name: string): RememberedStep | undefined {
    return this.#steps.find((step) => step.name === name);
  }

  /**
   * Changes a step. Resolves with the stored step; `null` = another attempt has the job, or it has ended, and nothing was written. Rejects with
   * `PermanentError` if the steps would be too large.
   */
  async put(name: string, change: Change): Promise<RememberedStep | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ name, change, resolve, reject });
      if (this.#waiting.length === 1) void this.#inTurn(() => this.#putAll());
    });
  }

  /** Writes all waiting steps: steps that end during a write share the next one. */
  async #putAll(): Promise<void> {
    const puts = this.#waiting.splice(0);
    try {
      const { answer, now } = await this.#write(this.#store, puts);
      this.#keep(now);
      for (const [i, { resolve, reject }] of puts.entries()) {
        const written = answer[i]!;
        if (written instanceof PermanentError) reject(written);
        else resolve(written);
      }
    } catch (error) {
      for (const { reject } of puts) reject(error);
    }
  }

  /**
   * Stores a step in a transaction. `commit` calls back with the store inside its transaction, and resolves with whether it has committed. A
   * stored step is never overwritten: then nothing is committed, and the stored step is returned. Resolves and rejects as `put` does, and
   * rejects with the errors of `commit`.
   */
  async putWith(
    commit: (write: (store: StepStore) => Promise<boolean>) => Promise<boolean>,
    step: RememberedStep,
  ): Promise<RememberedStep | null> {
    return this.#inTurn(async () => {
      let found: Written = null;
      let now: StepText | null = null;
      const committed = await commit(async (store) => {
        const written = await this.#write(store, [{ name: step.name, change: (known) => known ?? step }]);
        found = written.answer[0]!;
        now = written.now;
        return found === step;
      });
      if ((found as Written) instanceof PermanentError) throw found;
      if (committed) this.#keep(now);
      return committed || found !== step ? found : null;
    });
  }

  #inTurn<T>(put: () => Promise<T>): Promise<T> {
    const work = this.#last.then(put);
    this.#last = work.catch(() => {});
    return work;
  }

  #write(
    store: StepStore,
    puts: readonly Put[],
  ): Promise<{ readonly answer: readonly Written[]; readonly now: StepText | null }> {
    return swap<readonly Written[]>(store, nameOfJob(this.#who.id), this.#known, (text) => {
      const found = text === null ? null : (JSON.parse(text) as StoredLog);
      if (found?.owner !== this.#who.owner) return { answer: puts.map(() => null) };
      return applied(found, puts, this.#clock.now());
    });
  }

  /** Reads the steps again: an event may have arrived. */
  async look(): Promise<readonly RememberedStep[]> {
    const found = await this.#store.read(nameOfJob(this.#who.id));
    return stepsIn(found?.text ?? null);
  }

  /** Removes the steps of a job that has ended for good. Steps that another attempt has written meanwhile stay. */
  async forget(): Promise<void> {
    const { owner, id } = this.#who;
    await this.#last;
    await swap(this.#store, nameOfJob(id), this.#known, (text) => {
      const isOurs = text !== null && (JSON.parse(text) as StoredLog).owner === owner;
      return { answer: undefined, ...(isOurs && { text: null }) };
    });
  }

  #keep(found: StepText | null): void {
    this.#known = found;
    this.#steps = stepsIn(found?.text ?? null);
  }
}

function applied(found: StoredLog, puts: readonly Put[], now: number): Swap<readonly Written[]> {
  let { steps } = found;
  const written = puts.map(({ name, change }) => {
    const step = change(steps.find((one) => one.name === name));
    steps = withStep(steps, step);
    return step;
  });
  const next = swapped(written, { ...found, steps }, now);
  if (!isTooMuch(next.text!)) return next;
  if (puts.length > 1) return oneByOne(found, puts, now);
  const [{ name }] = puts as [Put];
  const refusal = new PermanentError(
    `Expected all steps of a job to fit into ${mostBytes} bytes, got ${Buffer.byteLength(next.text!)} with step ${JSON.stringify(name)}. Return an id from a step and keep the data elsewhere, or split the job.`,
  );
  return { answer: [refusal] };
}

/** Adds the steps that fit. */
function oneByOne(found: StoredLog, puts: readonly Put[], now: number): Swap<readonly Written[]> {
  let log = found;
  const answer = puts.map((put) => {
    const next = applied(log, [put], now);
    if (next.text != null) log = JSON.parse(next.text) as StoredLog;
    return next.answer[0]!;
  });
  return log === found ? { answer } : swapped(answer, log, now);
}

const isTooMuch = (text: string): boolean =>
  text.length * 3 > mostBytes && Buffer.byteLength(text) > mostBytes;

/**
 * Delivers an event to the open waits of a job. Resolves with their names; empty if the job no longer waits. Rejects with `LIMIT` if the steps
 * would be too large.
 */
export async function deliverTo(
  store: StepStore,
  clock: Clock,
  id: string,
  { event, key, got }: Required<Pick<WaitStep, 'event' | 'key' | 'got'>>,
): Promise<readonly string[]> {
  const { answer } = await swap<readonly string[]>(store, nameOfJob(id), undefined, (text) => {
    const now = clock.now();
    const log = text === null ? null : (JSON.parse(text) as StoredLog);
    const waits = (log?.steps ?? []).filter(
      (step) => isOpen(step, now) && step.event === event && step.key === key,
    );
    if (!log || waits.length === 0) return { answer: [] };
    const steps = log.steps.map((step) => (waits.includes(step) ? { ...step, got } : step));
    const next = swapped(
      waits.map(({ name }) => name),
      { ...log, steps },
      now,
    );
    if (!isTooMuch(next.text!)) return next;
    throw new LongshoreError(
      'LIMIT',
      `Job ${id} did not get event "${event}", because its steps would be too large: together they may have ${mostBytes} bytes. Emit less, for example an id.`,
    );
  });
  return answer;
}
