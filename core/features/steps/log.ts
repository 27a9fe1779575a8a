/** The steps of a job during an attempt. Only the latest attempt may write them. */

import type { Clock } from '../../base/clock.ts';
import { LongshoreError, PermanentError } from '../../base/errors.ts';
import type { StepStore, StepText } from '../../contract/derived/steps.ts';
import {
  bytesOf,
  bytesOfPieces,
  forged,
  isOpen,
  type LogChange,
  type LogNow,
  logIn,
  mostBytes,
  mostOfJob,
  nameOfJob,
  noSteps,
  type RememberedStep,
  readPieces,
  removePieces,
  type StoredLog,
  spilled,
  stepsIn,
  swapLog,
  textOf,
  type WaitStep,
  withNext,
} from './stored.ts';

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

/** The steps of one job, for one attempt. */
export class StepLog {
  readonly #store: StepStore;
  readonly #clock: Clock;
  readonly #who: LogOwner;
  readonly #refused: (error: LongshoreError) => void;
  #known: StepText | null = null;
  readonly #steps = new Map<string, RememberedStep>();
  /** The steps of the pieces that this attempt has read or written. */
  readonly #pieces = new Map<string, readonly RememberedStep[]>();
  /** Merged pieces that this attempt has removed. */
  #removed: ReadonlySet<string> = new Set();
  /** One write at a time: each overwrites the previous one. */
  #last: Promise<unknown> = Promise.resolve();
  readonly #waiting: WaitingPut[] = [];

  private constructor(
    store: StepStore,
    clock: Clock,
    who: LogOwner,
    refused: (error: LongshoreError) => void,
  ) {
    this.#store = store;
    this.#clock = clock;
    this.#who = who;
    this.#refused = refused;
  }

  /**
   * Opens the log; from then on only this owner may write. `null` = a later attempt has the job, because this one woke up late. If an attempt
   * with a lower number has a lease that ends later, the job has started again, as a retried dead letter does.
   *
   * @param refused called with the error for a piece that does not verify
   */
  static async open(
    store: StepStore,
    clock: Clock,
    who: LogOwner,
    refused: (error: LongshoreError) => void = () => {},
  ): Promise<StepLog | null> {
    const log = new StepLog(store, clock, who, refused);
    const { id, ...owner } = who;
    const opened = await swapLog(store, clock, id, undefined, (found) => {
      if (found && who.attempt < found.attempt && who.leaseUntil <= found.leaseUntil)
        return { answer: false };
      return { answer: true, log: withNext({ ...noSteps, ...found, ...owner }, clock.now()) };
    });
    if (!opened.answer || !(await log.#load(store, opened.log!))) return null;
    log.#keep(opened);
    await log.#tidy(opened);
    return log;
  }

  get steps(): readonly RememberedStep[] {
    return [...this.#steps.values()];
  }

  find(name: string): RememberedStep | undefined {
    return this.#steps.get(name);
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
      while (puts.length > 0) {
        const written = await this.#write(this.#store, this.#known, puts);
        this.#keep(written);
        await this.#tidy(written);
        for (const [i, { resolve, reject }] of puts.splice(0, written.answer.length).entries()) {
          const step = written.answer[i]!;
          if (step instanceof PermanentError) reject(step);
          else resolve(step);
        }
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
      let last: LogNow = { now: this.#known, log: null };
      const puts = [{ name: step.name, change: (known?: RememberedStep) => known ?? step }];
      const committed = await commit(async (store) => {
        let answer: readonly Written[] = [];
        for (let { now } = last; answer.length === 0; now = last.now)
          ({ answer, ...last } = await this.#write(store, now, puts));
        found = answer[0]!;
        return found === step;
      });
      if ((found as Written) instanceof PermanentError) throw found;
      if (committed) {
        this.#keep(last);
        await this.#tidy(last);
      }
      return committed || found !== step ? found : null;
    });
  }

  #inTurn<T>(put: () => Promise<T>): Promise<T> {
    const work = this.#last.then(put);
    this.#last = work.catch(() => {});
    return work;
  }

  /** Writes the first steps, at least as many as fit into a text. Resolves with their answers; none = room was made, call again. */
  async #write(
    store: StepStore,
    known: StepText | null,
    puts: readonly Put[],
  ): Promise<LogNow & { readonly answer: readonly Written[] }> {
    const { id, owner } = this.#who;
    const lost = puts.map(() => null);
    for (let text = known; ; ) {
      const { answer, now, log } = await swapLog<readonly Written[] | null>(
        store,
        this.#clock,
        id,
        text,
        (found) => {
          if (found?.owner !== owner) return { answer: lost };
          // The answer to the write of a piece was lost.
          if (found.pieces.some(({ name }) => !this.#pieces.has(name))) return { answer: null };
          return this.#applied(found, puts);
        },
      );
      if (answer !== null) return { answer, now, log };
      if (!(await this.#load(store, log!))) return { answer: lost, now, log };
      text = now;
    }
  }

  #applied(found: StoredLog, puts: readonly Put[]): LogChange<readonly Written[]> {
    const now = this.#clock.now();
    const before = { ...found, gone: found.gone.filter((name) => !this.#removed.has(name)) };
    const { next } = before;
    const { log, piece } =
      next === null
        ? { log: before, piece: null }
        : spilled({ ...before, next }, (name) => this.#pieces.get(name)!);
    if (piece) this.#pieces.set(piece.name, piece.steps);
    const steps = new Map(log.steps.map((step) => [step.name, step]));
    let bytes = Buffer.byteLength(textOf(log));
    const spilledBytes = bytesOfPieces(log);
    const answer: Written[] = [];
    let isFull = false;
    for (const { name, change } of puts) {
      const known = steps.get(name) ?? this.#steps.get(name);
      const step = change(known);
      if (known !== undefined && !steps.has(name)) {
        answer.push(known); // in a piece: it has ended
        continue;
      }
      const more = bytesOf(step) + 1 - (known ? bytesOf(known) + 1 : 0);
      if (bytes + more > mostBytes && bytesOf(step) < mostBytes) {
        const room = withNext({ ...log, steps: [...steps.values()] }, now, true);
        isFull = room.next !== null;
        if (isFull) break;
      }
      if (bytes + more > mostBytes) answer.push(tooMuch(name, mostBytes, bytes + more));
      else if (spilledBytes + bytes + more > mostOfJob)
        answer.push(tooMuch(name, mostOfJob, spilledBytes + bytes + more));
      else {
        steps.set(name, step);
        bytes += more;
        answer.push(step);
      }
    }
    const isSame = answer.every((step, i) => steps.get(puts[i]!.name) !== step);
    if (isSame && !isFull) return { answer };
    const last = withNext({ ...log, steps: [...steps.values()] }, now, isFull);
    return { answer, log: last, ...(piece && { piece }) };
  }

  /** Reads the pieces that this attempt does not know. `false` = another attempt has the job. */
  async #load(store: StepStore, { pieces }: StoredLog): Promise<boolean> {
    const { id, owner } = this.#who;
    const unread = pieces.filter(({ name }) => !this.#pieces.has(name));
    const texts = await readPieces(store, id, unread);
    for (const [i, piece] of unread.entries()) {
      const text = texts[i] ?? null;
      if (text === null) {
        // A later attempt may have merged it meanwhile.
        const now = await store.read(nameOfJob(id));
        if (now === null || logIn(now.text).owner !== owner) return false;
        const error = forged(id, piece);
        this.#refused(error);
        throw error;
      }
      const steps: readonly RememberedStep[] = JSON.parse(text);
      this.#pieces.set(piece.name, steps);
      for (const step of steps) this.#steps.set(step.name, step);
    }
    return true;
  }

  /** Removes merged pieces. If that fails, the next write still names them. */
  async #tidy({ log }: LogNow): Promise<void> {
    if (log === null || log.gone.length === 0) return;
    try {
      await removePieces(this.#store, this.#who.id, log.gone);
      this.#removed = new Set(log.gone);
    } catch {}
    for (const name of log.gone) this.#pieces.delete(name);
  }

  /** Reads open waits again: an event may have arrived. */
  async look(): Promise<readonly RememberedStep[]> {
    const found = await this.#store.read(nameOfJob(this.#who.id));
    return stepsIn(found?.text ?? null);
  }

  /** Removes the steps of a job that has ended for good. Steps that another attempt has written meanwhile stay. */
  async forget(): Promise<void> {
    const { owner, id } = this.#who;
    await this.#last;
    await swapLog(this.#store, this.#clock, id, this.#known, (found) => ({
      answer: undefined,
      ...(found?.owner === owner && { log: null }),
    }));
  }

  #keep({ now, log }: LogNow): void {
    this.#known = now;
    for (const step of log?.steps ?? []) this.#steps.set(step.name, step);
  }
}

const tooMuch = (name: string, most: number, bytes: number): PermanentError =>
  new PermanentError(
    `Expected ${most === mostBytes ? `step ${JSON.stringify(name)}` : 'all steps of a job'} to fit into ${most} bytes, got ${bytes}${most === mostBytes ? '' : ` with step ${JSON.stringify(name)}`}. Return an id from a step and keep the data elsewhere, or split the job.`,
  );

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
  const { answer } = await swapLog<readonly string[]>(store, clock, id, undefined, (log) => {
    const now = clock.now();
    const waits = (log?.steps ?? []).filter(
      (step) => isOpen(step, now) && step.event === event && step.key === key,
    );
    if (!log || waits.length === 0) return { answer: [] };
    const steps = log.steps.map((step) => (waits.includes(step) ? { ...step, got } : step));
    const next = { ...log, steps };
    const bytes = Buffer.byteLength(textOf(next));
    if (bytes <= mostBytes && bytes + bytesOfPieces(next) <= mostOfJob)
      return { answer: waits.map(({ name }) => name), log: next };
    const most = bytes > mostBytes ? mostBytes : mostOfJob;
    throw new LongshoreError(
      'LIMIT',
      `Job ${id} did not get event "${event}", because its steps would be too large: together they may have ${most} bytes. Emit less, for example an id.`,
    );
  });
  return answer;
}
