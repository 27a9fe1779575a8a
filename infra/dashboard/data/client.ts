/** Requests to the page's server, with error messages for people. */

import type { Session, Unavailable } from '../../../core/surfaces/dashboard/api.ts';
import { createStore } from './store.ts';

export interface Issue {
  readonly path?: string;
  readonly message: string;
}

/** A refusal of the server, or no answer. `message` is for people. */
export class Problem extends Error {
  /** 0 = no answer. */
  readonly status: number;
  readonly code: string;
  readonly issues: readonly Issue[];

  constructor(status: number, code: string, message: string, issues: readonly Issue[] = []) {
    super(message);
    this.status = status;
    this.code = code;
    this.issues = issues;
  }
}

export const session = createStore<Session | null>(null);
/** Why there is no session; `null` = there is one, or it was not requested yet. */
export const refusal = createStore<Problem | null>(null);

export const isUnavailable = (value: unknown): value is Unavailable =>
  typeof value === 'object' &&
  value !== null &&
  'unavailable' in value &&
  typeof value.unavailable === 'string';

/** This file is in `assets/` of the dashboard, wherever that is mounted; the page's address may end with or without a slash. */
const home = new URL(/* @vite-ignore */ '..', import.meta.url).href;

export const addressOf = (path: string): string => `${home}api/${path}`;

export type Query = Readonly<Record<string, string | number | null | undefined>>;

/** Members without a value are left out. */
export function queryOf(members: Query): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(members))
    if (value !== undefined && value !== null && value !== '') query.set(name, String(value));
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

export async function ask<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await answer(path, { headers: { accept: 'application/json' }, ...(signal && { signal }) });
  return (await response.json()) as T;
}

export async function send<T>(path: string, body: unknown = {}): Promise<T> {
  return (await (await post(path, body)).json()) as T;
}

/** An expired token is renewed and the change requested again: it was refused before anything was done. */
export async function post(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  try {
    return await postOnce(path, body, signal);
  } catch (error) {
    if (!(error instanceof Problem) || error.status !== 403 || error.code !== 'TOKEN') throw error;
    await signIn();
    return postOnce(path, body, signal);
  }
}

function postOnce(path: string, body: unknown, signal?: AbortSignal): Promise<Response> {
  const headers = {
    'content-type': 'application/json',
    'x-longshore-token': session.get()?.token ?? '',
  };
  return answer(path, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) });
}

export async function signIn(): Promise<void> {
  try {
    session.set(await ask<Session>('session'));
    refusal.set(null);
  } catch (error) {
    // Keep the screen while the server is unavailable for a short time.
    if (error instanceof Problem && (error.status === 401 || session.get() === null)) refusal.set(error);
    throw error;
  }
}

async function answer(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(addressOf(path), { credentials: 'same-origin', cache: 'no-store', ...init });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    const words = 'The dashboard does not answer. Is its program still running?';
    // The action may have been done before the response was lost.
    throw new Problem(
      0,
      'NETWORK',
      init.method === 'POST' ? `${words} Look here again before you repeat it.` : words,
    );
  }
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.status === 401) refusal.set(problem);
  throw problem;
}

async function problemOf(response: Response): Promise<Problem> {
  try {
    const { code, detail, title, issues } = (await response.json()) as {
      code?: string;
      detail?: string;
      title?: string;
      issues?: readonly Issue[];
    };
    return new Problem(response.status, code ?? '', detail ?? title ?? `HTTP ${response.status}`, issues);
  } catch {
    return new Problem(
      response.status,
      'HTTP',
      `The server answered ${response.status} without saying why. Look into its log.`,
    );
  }
}

export const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
