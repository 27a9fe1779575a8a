/** Asks several backends at the same time, and goes on without those that do not answer. */

import { within } from '../base/clock.ts';
import { type ErrorCode, LongshoreError } from '../base/errors.ts';
import { backendError, cut, type UnavailableBackend } from '../base/failure.ts';
import { withoutCredentials } from '../base/mask.ts';
import type { Client } from '../kernel/enqueue/client.ts';

/** Longer than a usual page, and shorter than a request may take. */
const longestMs = 10_000;
const longestText = 300;

/** The caller has to mend these. Every other error is one of the backend. */
const callersFaults: readonly ErrorCode[] = ['OPTION', 'NOT_FOUND'];

/** A list that may cover several backends. It throws if none answers. */
export interface OfSeveral {
  /** Backends that did not answer, so that their rows are missing; absent if all have answered. */
  readonly unavailable?: readonly UnavailableBackend[];
}

/** The backends that did not answer one of several questions. */
export function missedBy(...asked: readonly (OfSeveral | null)[]): OfSeveral {
  const away = new Map(asked.flatMap((one) => one?.unavailable ?? []).map((one) => [one.backend, one]));
  return away.size > 0 ? { unavailable: [...away.values()] } : {};
}

interface Answers<T> extends OfSeveral {
  readonly answers: readonly { readonly client: Client; readonly answer: T }[];
}

/** No backend has answered. */
export class NoAnswerError extends LongshoreError {
  readonly unavailable: readonly UnavailableBackend[];

  constructor(unavailable: readonly UnavailableBackend[], cause: unknown) {
    const told = unavailable.map(({ backend, code, message }) => `${backend}: ${code}: ${message}`);
    super('BACKEND', `No backend answers. ${told.join(' ')}`, { cause });
    this.unavailable = unavailable;
  }
}

/**
 * The answers in the order of the clients. A single client has all the time it needs, and its error is thrown as it is. Several have `mostMs`
 * each. Throws the error of a wrong call, and `NoAnswerError` if none answers.
 */
export async function askEach<T>(
  clients: readonly Client[],
  ask: (client: Client) => Promise<T>,
  mostMs = longestMs,
): Promise<Answers<T>> {
  const [first] = clients;
  if (first && clients.length === 1) return { answers: [{ client: first, answer: await ask(first) }] };
  const results = await Promise.allSettled(
    clients.map((client) => within(client.app.clock, mostMs, ask(client), () => late(mostMs))),
  );
  const answers: { client: Client; answer: T }[] = [];
  const unavailable: UnavailableBackend[] = [];
  for (const [i, result] of results.entries()) {
    const client = clients[i]!;
    if (result.status === 'fulfilled') answers.push({ client, answer: result.value });
    else unavailable.push(awayOf(client, result.reason));
  }
  const failed = results.find((result) => result.status === 'rejected');
  if (failed && answers.length === 0) throw new NoAnswerError(unavailable, failed.reason);
  return { answers, ...(failed && { unavailable }) };
}

function late(ms: number): never {
  throw new LongshoreError('BACKEND', `It gave no answer for ${ms / 1_000} s.`);
}

/** Throws an error that the caller has to mend. */
export function awayOf({ name = '' }: Client, reason: unknown): UnavailableBackend {
  const { code, message } = backendError('a query', reason);
  if (callersFaults.includes(code)) throw reason;
  return { backend: name, code, message: cut(withoutCredentials(message), longestText) };
}

/** The clients that have this store, each store once: several backends may share one. */
export function keepersOf<Store>(
  clients: readonly Client[],
  storeOf: (client: Client) => Store | undefined,
): readonly Client[] {
  const seen = new Map<Store, Client>();
  for (const client of clients) {
    const store = storeOf(client);
    if (store !== undefined && !seen.has(store)) seen.set(store, client);
  }
  return [...seen.values()];
}

/** If no backend has what is asked for, the first one: its store or backend throws the error. */
export const orFirst = (client: Client, able: readonly Client[]): readonly Client[] =>
  able.length > 0 ? able : [client];

/** Rows of one backend, with its name if the app has several. */
export const labelled = <Row extends object>({ name }: Client, rows: readonly Row[]): readonly OfOne<Row>[] =>
  rows.map((row) => (name === undefined ? row : { backend: name, ...row }));

export type OfOne<Row> = Row & {
  /** The name of its backend, if the app has several. */
  readonly backend?: string;
};

/** The rows of all answers. */
export const joined = <Row extends object>({
  answers,
}: Pick<Answers<readonly Row[]>, 'answers'>): readonly OfOne<Row>[] =>
  answers.flatMap(({ client, answer }) => labelled(client, answer));
