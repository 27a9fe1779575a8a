/**
 * How a store keeps the steps of a job: a text that every write replaces, and pieces that are written once. The text has the latest steps, open
 * waits and sleeps that are not over. It is signed, and names each piece with a digest of its content, so no piece can be changed, left out or
 * taken from another job.
 */

import type { Clock } from '../../base/clock.ts';
import { crypto } from '../../base/crypto.ts';
import { LongshoreError } from '../../base/errors.ts';
import { withoutSeparators } from '../../base/json.ts';
import type { StepStore, StepText } from '../../contract/derived/steps.ts';
import { forEach } from '../../kit/parallel.ts';
import { swap } from '../../kit/records/swap.ts';

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

export interface Piece {
  readonly name: string;
  readonly digest: string;
  readonly bytes: number;
}

export interface StoredLog {
  /** A digest of the token of the lease that may write. */
  readonly owner: string;
  readonly attempt: number;
  /** The original end of that lease. */
  readonly leaseUntil: number;
  /** The steps that are in no piece. */
  readonly steps: readonly RememberedStep[];
  /** The oldest first. */
  readonly pieces: readonly Piece[];
  /** Pieces that were merged into others and may still be stored. */
  readonly gone: readonly string[];
  /**
   * The next write puts the first `count` steps into a piece of this name. Named before the piece is written, so that each stored piece is known
   * after a crash, and every writer writes the same one.
   */
  readonly next: { readonly name: string; readonly count: number } | null;
  /** The number of names given so far. */
  readonly named: number;
  /** No piece expires before. */
  readonly keptUntil: number;
}

/** The most bytes of a signature: the longest `kid`, and the digits. */
const sealBytes = 256;
/** The most bytes of a text: a store may hold no more, with the signature, in one item. */
export const mostBytes = 262_144 - sealBytes;
/** The most bytes of all steps of a job. Each attempt reads them. */
export const mostOfJob = 4_194_304;
/** Steps go into a piece when they have this size, and are this number or have the large size. */
const full = { bytes: 4_096, count: 8, largeBytes: 65_536 };
const day = 86_400_000;
/** Longer than dead letters are kept, for steps of jobs whose end was never seen. */
const keepMs = 100 * day;
/** Pieces expire this much later than the text, so that they are rarely written again to be kept. */
const slackMs = 10 * day;

export const nameOfJob = (id: string): string => `job:${id}`;
const pieceBegin = 'piece:';
const nameOfPiece = (id: string, piece: string): string => `${pieceBegin}${id}:${piece}`;
export const isPiece = (name: string): boolean => name.startsWith(pieceBegin);

export const isWait = (step: RememberedStep): step is WaitStep => 'event' in step;
export const isSleep = (step: RememberedStep): step is SleepStep => 'until' in step && !isWait(step);
/** Whether an event may still arrive for it. */
export const isOpen = (step: RememberedStep, now: number): step is WaitStep =>
  isWait(step) && step.got === undefined && !step.over && step.until > now;
/** Whether it changes no more. */
const isSettled = (step: RememberedStep, now: number): boolean =>
  isWait(step) ? step.got !== undefined || step.over === true : !isSleep(step) || step.until <= now;

const noPieces = { pieces: [], gone: [], next: null, named: 0, keptUntil: 0 };
export const noSteps: Pick<StoredLog, 'steps' | keyof typeof noPieces> = { steps: [], ...noPieces };

export function logIn(text: string): StoredLog {
  const { owner, attempt, leaseUntil, steps } = JSON.parse(text);
  if (Array.isArray(steps)) return { owner, attempt, leaseUntil, ...noPieces, steps };
  const pieces = (steps.pieces as PieceText[]).map(([name, digest, bytes]) => ({ name, digest, bytes }));
  return { owner, attempt, leaseUntil, ...steps, pieces };
}

type PieceText = [name: string, digest: string, bytes: number];

/** Without pieces it is the text of earlier releases. With pieces those fail to read it, so that they do not repeat steps. */
export function textOf({ owner, attempt, leaseUntil, ...log }: StoredLog): string {
  const pieces = log.pieces.map(({ name, digest, bytes }): PieceText => [name, digest, bytes]);
  const steps = log.named === 0 ? log.steps : { ...log, pieces };
  return withoutSeparators(JSON.stringify({ owner, attempt, leaseUntil, steps }));
}

/** The steps that are in no piece. */
export const stepsIn = (text: string | null): readonly RememberedStep[] =>
  text === null ? [] : logIn(text).steps;

export const bytesOf = (value: unknown): number =>
  Buffer.byteLength(withoutSeparators(JSON.stringify(value)));
export const bytesOfPieces = ({ pieces }: StoredLog): number =>
  pieces.reduce((sum, { bytes }) => sum + bytes, 0);

export const digestOf = (text: string): string =>
  crypto().createHash('sha256').update(text).digest('base64url');

/** Names the next piece when the settled steps fill one. @param always `true` = even if they do not */
export function withNext(log: StoredLog, now: number, always = false): StoredLog {
  if (log.next !== null) return log;
  const settled = log.steps.filter((step) => isSettled(step, now));
  if (settled.length === 0 || !(always || isFull(settled))) return log;
  const steps = [...settled, ...log.steps.filter((step) => !settled.includes(step))];
  const next = { name: `${log.owner.slice(0, 12)}.${log.named}`, count: settled.length };
  return { ...log, steps, next, named: log.named + 1 };
}

function isFull(steps: readonly RememberedStep[]): boolean {
  if (steps.length < full.count && !steps.some((step) => 'value' in step || isWait(step))) return false;
  const bytes = bytesOf(steps);
  return bytes >= (steps.length < full.count ? full.largeBytes : full.bytes);
}

export interface NewPiece {
  readonly name: string;
  readonly steps: readonly RememberedStep[];
  readonly text: string;
}

/**
 * Puts the steps of `next` into a piece, together with the last pieces while these are not much larger. So a job has few pieces, and a step is
 * written again only as often as the size of its piece doubles.
 */
export function spilled(
  log: StoredLog & Pick<{ next: NonNullable<StoredLog['next']> }, 'next'>,
  stepsOf: (piece: string) => readonly RememberedStep[],
): { readonly log: StoredLog; readonly piece: NewPiece } {
  const { name, count } = log.next;
  const pieces = [...log.pieces];
  let steps = log.steps.slice(0, count);
  let bytes = bytesOf(steps);
  for (let last = pieces.at(-1); last !== undefined; last = pieces.at(-1)) {
    if (last.bytes > bytes * 1.5 || last.bytes + bytes > mostBytes) break;
    pieces.pop();
    steps = [...stepsOf(last.name), ...steps];
    bytes += last.bytes;
  }
  const text = withoutSeparators(JSON.stringify(steps));
  const gone = [...log.gone, ...log.pieces.slice(pieces.length).map((piece) => piece.name)];
  pieces.push({ name, digest: digestOf(text), bytes: Buffer.byteLength(text) });
  return {
    log: { ...log, steps: log.steps.slice(count), pieces, gone, next: null },
    piece: { name, steps, text },
  };
}

export interface LogChange<T> {
  readonly answer: T;
  /** `null` = remove all steps, absent = leave them unchanged. */
  readonly log?: StoredLog | null;
  /** Written before the log. */
  readonly piece?: NewPiece;
}

export interface LogNow {
  readonly now: StepText | null;
  readonly log: StoredLog | null;
}

/** As `swap`, for the steps of a job. */
export async function swapLog<T>(
  store: StepStore,
  clock: Clock,
  id: string,
  known: StepText | null | undefined,
  change: (log: StoredLog | null) => LogChange<T>,
): Promise<LogNow & { readonly answer: T }> {
  let log: StoredLog | null = null;
  let removed: StoredLog | null = null;
  const { answer, now } = await swap<T>(store, nameOfJob(id), known, (text) => {
    const found = text === null ? null : logIn(text);
    const { answer, log: next, piece } = change(found);
    log = next === undefined ? found : next;
    removed = next === null ? found : null;
    if (next === undefined) return { answer };
    if (next === null) return { answer, text: null };
    const endsAt = endOf(next, clock.now());
    const isKept = next.pieces.length === 0 || next.keptUntil >= endsAt;
    const keptUntil = isKept ? next.keptUntil : endsAt + slackMs;
    const before = async () => {
      const old = isKept ? [] : next.pieces.map(({ name }) => name).filter((name) => name !== piece?.name);
      if (piece) await putPiece(store, id, piece.name, piece.text, keptUntil);
      await forEach(old, (name) => keepPiece(store, id, name, keptUntil));
    };
    return { answer, text: textOf({ ...next, keptUntil }), endsAt, before };
  });
  if (removed !== null) await removePieces(store, id, namesOf(removed));
  return { answer, now, log };
}

export const endOf = ({ steps }: StoredLog, now: number): number =>
  Math.ceil(steps.reduce((end, step) => Math.max(end, 'until' in step ? step.until : 0), now) + keepMs);

/** When copies of the pieces may expire. */
export const endOfCopies = (log: StoredLog, now: number): number => endOf(log, now) + slackMs;

/** A piece that is there already has the same content: it is kept for longer. */
export async function putPiece(
  store: StepStore,
  id: string,
  name: string,
  text: string,
  endsAt: number,
): Promise<void> {
  const version = await store.write(nameOfPiece(id, name), text, null, endsAt);
  if (version === null) await keepPiece(store, id, name, endsAt);
}

async function keepPiece(store: StepStore, id: string, name: string, endsAt: number): Promise<void> {
  await swap(store, nameOfPiece(id, name), undefined, (text) => ({
    answer: null,
    ...(text !== null && { text, endsAt }),
  }));
}

/** All pieces that may be stored. */
export const namesOf = ({ pieces, gone, next }: StoredLog): string[] => [
  ...pieces.map(({ name }) => name),
  ...gone,
  ...(next ? [next.name] : []),
];

export const removePieces = async (store: StepStore, id: string, names: readonly string[]): Promise<void> =>
  forEach(names, (name) => store.remove(nameOfPiece(id, name)));

/** The texts of the pieces; `null` = it is missing or was changed. */
export async function readPieces(
  store: StepStore,
  id: string,
  pieces: readonly Piece[],
): Promise<readonly (string | null)[]> {
  const texts: (string | null)[] = [];
  await forEach(pieces.entries(), async ([i, { name, digest }]) => {
    const found = await store.read(nameOfPiece(id, name));
    texts[i] = found !== null && digestOf(found.text) === digest ? found.text : null;
  });
  return texts;
}

export const forged = (id: string, { name }: Piece): LongshoreError =>
  new LongshoreError(
    'SIGNATURE',
    `The stored text ${JSON.stringify(nameOfPiece(id, name))} does not verify, so it was not used. It is missing, or it was changed or forged.`,
  );
