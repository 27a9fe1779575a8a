/** Loads the data of a page, and reloads it. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { OfSeveral, Unavailable } from '../../../core/surfaces/dashboard/api.ts';
import { ask, isUnavailable, type Query, queryOf, wordsOf } from './client.ts';
import { onKeys } from './keys.ts';

interface State<T> {
  /** The last data from this address. It stays when a later load fails. */
  readonly value: T | null;
  /** Why there is nothing to load. */
  readonly unavailable: string | null;
  /** Why the last load failed. */
  readonly problem: string | null;
  readonly loading: boolean;
}

type Load<T> = (old: T | null, signal: AbortSignal) => Promise<T | Unavailable>;

const nothing = { value: null, unavailable: null, problem: null, loading: true };

/** After this time a poll counts as unanswered: a machine that slept has lost its connections. */
const patienceMs = 60_000;

/** One request at a time: a later request, another address and leaving the page abort the previous one. */
function useRequest<T>(address: string) {
  const [kept, keep] = useState<State<T> & { readonly address: string }>({ address, ...nothing });
  const state = kept.address === address ? kept : { address, ...nothing };
  const latest = useRef(state);
  latest.current = state;
  const running = useRef<AbortController | null>(null);
  const startedAt = useRef(0);
  /** @param quiet shows no progress, and does not disturb a running request for a while */
  const request = useCallback(
    async (load: Load<T>, quiet: boolean): Promise<void> => {
      if (quiet && running.current !== null && Date.now() - startedAt.current < patienceMs) return;
      startedAt.current = Date.now();
      running.current?.abort();
      const own = new AbortController();
      running.current = own;
      const old = latest.current;
      if (!quiet) keep({ ...old, loading: true });
      let next: State<T>;
      try {
        const found = await load(old.value, own.signal);
        next = { ...nothing, ...(isUnavailable(found) ? found : { value: found }) };
      } catch (error) {
        next = { ...old, problem: wordsOf(error) };
      }
      if (own.signal.aborted) return;
      running.current = null;
      keep({ ...next, address, loading: false });
    },
    [address],
  );
  useEffect(
    () => () => {
      running.current?.abort();
      running.current = null;
    },
    [address],
  );
  return { state, request };
}

/** Loads at the start, and when its key is pressed. */
function useStart(reload: () => void, address: string): void {
  useEffect(() => {
    reload();
    return onKeys({ r: reload });
  }, [address]);
}

export interface Loaded<T> extends State<T> {
  readonly reload: () => void;
}

/** @param everyMs interval while the page is visible; without it, never again */
export function useLoad<T>(path: string, everyMs?: number): Loaded<T> {
  const { state, request } = useRequest<T>(path);
  const load = (quiet: boolean): void =>
    void request((_, signal) => ask<T | Unavailable>(path, signal), quiet);
  const reload = (): void => load(false);
  useStart(reload, path);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => !document.hidden && load(true), everyMs);
    return () => clearInterval(timer);
  }, [path, everyMs]);
  return { ...state, reload };
}

export type Missed = OfSeveral['unavailable'];

export interface LoadedPages<T> extends Omit<State<unknown>, 'value'> {
  readonly items: readonly T[];
  /** Backends that did not answer. */
  readonly missed: Missed;
  readonly more: boolean;
  readonly loadMore: () => void;
  readonly reload: () => void;
  /** Reloads the first page without showing progress. */
  readonly refresh: () => void;
}

export const pageSize = 100;
const mostLooks = 5;
const noPage = { items: [], next: null, missed: undefined };

/**
 * Loads a list page by page. A page may be empty and still have a next one, so it loads on until there is something to show or the limit of
 * requests is reached.
 */
export function usePages<Page extends OfSeveral & { readonly next: string | null }, T>(
  path: string,
  filter: Query,
  itemsOf: (page: Page) => readonly T[],
): LoadedPages<T> {
  const addressOf = (after: string | null): string =>
    `${path}${queryOf({ ...filter, max: pageSize, after })}`;
  const address = addressOf(null);
  const { state, request } = useRequest<
    Pick<LoadedPages<T>, 'items' | 'missed'> & { readonly next: string | null }
  >(address);
  const load = (isFresh: boolean, quiet = false): void =>
    void request(async (old, signal) => {
      let { items, next, missed } = (!isFresh && old) || noPage;
      const before = items.length;
      for (let looks = 0; looks < mostLooks; looks += 1) {
        const page = await ask<Page | Unavailable>(addressOf(next), signal);
        if (isUnavailable(page)) return page;
        items = [...items, ...itemsOf(page)];
        next = page.next;
        missed = page.unavailable;
        if (items.length > before || next === null) break;
      }
      return { items, next, missed };
    }, quiet);
  const reload = (): void => load(true);
  useStart(reload, address);
  const { value, ...rest } = state;
  const { items, next, missed } = value ?? noPage;
  return {
    ...rest,
    items,
    missed,
    more: next !== null,
    loadMore: () => {
      if (!rest.loading && next !== null && rest.problem === null) load(false);
    },
    reload,
    refresh: () => load(true, true),
  };
}

/** Reloads at an interval while the page is visible, unless more than the first page was loaded. */
export function useRefresh({ items, refresh }: LoadedPages<unknown>, everyMs: number, mayNow = always): void {
  const latest = useRef(refresh);
  latest.current = refresh;
  const isFirstPage = items.length <= pageSize;
  useEffect(() => {
    if (!isFirstPage) return;
    const timer = setInterval(() => !document.hidden && mayNow() && latest.current(), everyMs);
    return () => clearInterval(timer);
  }, [isFirstPage, everyMs]);
}

const always = (): boolean => true;

/** New rows appear automatically, unless the user has scrolled down or selected a row. */
export const useRefreshAtTop = (loaded: LoadedPages<unknown>): void =>
  useRefresh(loaded, 5_000, () => {
    const rows = document.querySelector('.rows');
    return rows?.scrollTop === 0 && !rows.contains(document.activeElement);
  });
