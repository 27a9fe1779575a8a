/** Loads what a page shows, and loads it again. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import type { Unavailable } from '../../../core/surfaces/dashboard/api.ts';
import { ask, isUnavailable, type Query, queryOf, wordsOf } from './client.ts';
import { onKeys } from './keys.ts';

interface State<T> {
  /** The data last loaded from this address. It stays when a later load fails. */
  readonly value: T | null;
  /** Why there is nothing to load. */
  readonly unavailable: string | null;
  /** Why the last load failed. */
  readonly problem: string | null;
  readonly loading: boolean;
}

type Load<T> = (old: T | null, signal: AbortSignal) => Promise<T | Unavailable>;

const nothing = { value: null, unavailable: null, problem: null, loading: true };

/** After it a poll takes it that no answer will come: a machine that slept has lost its connections. */
const patienceMs = 60_000;

/** One request at a time: a later one, another address and leaving give up the one before. */
function useRequest<T>(address: string) {
  const [kept, keep] = useState<State<T> & { readonly address: string }>({ address, ...nothing });
  const state = kept.address === address ? kept : { address, ...nothing };
  const latest = useRef(state);
  latest.current = state;
  const running = useRef<AbortController | null>(null);
  const startedAt = useRef(0);
  /** @param quiet shows no sign of it, and leaves the one that runs alone for a while */
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

/** At first, and when somebody presses the key for it. */
function useStart(reload: () => void, address: string): void {
  useEffect(() => {
    reload();
    return onKeys({ r: reload });
  }, [address]);
}

export interface Loaded<T> extends State<T> {
  readonly reload: () => void;
}

/** @param everyMs while the page is seen; never without it */
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

export interface LoadedPages<T> extends Omit<State<unknown>, 'value'> {
  readonly items: readonly T[];
  readonly more: boolean;
  readonly loadMore: () => void;
  readonly reload: () => void;
  /** The first page again, without a sign of it. */
  readonly refresh: () => void;
}

export const pageSize = 100;
const mostLooks = 5;
const noPage = { items: [], next: null };

/**
 * Loads page after page of one list. A page may be empty and go on, so that it asks on until there is something to show, or it has
 * asked as often as one look may cost.
 */
export function usePages<Page extends { readonly next: string | null }, T>(
  path: string,
  filter: Query,
  itemsOf: (page: Page) => readonly T[],
): LoadedPages<T> {
  const addressOf = (after: string | null): string =>
    `${path}${queryOf({ ...filter, max: pageSize, after })}`;
  const address = addressOf(null);
  const { state, request } = useRequest<{ readonly items: readonly T[]; readonly next: string | null }>(
    address,
  );
  const load = (isFresh: boolean, quiet = false): void =>
    void request(async (old, signal) => {
      let { items, next } = (!isFresh && old) || noPage;
      const before = items.length;
      for (let looks = 0; looks < mostLooks; looks += 1) {
        const page = await ask<Page | Unavailable>(addressOf(next), signal);
        if (isUnavailable(page)) return page;
        items = [...items, ...itemsOf(page)];
        next = page.next;
        if (items.length > before || next === null) break;
      }
      return { items, next };
    }, quiet);
  const reload = (): void => load(true);
  useStart(reload, address);
  const { value, ...rest } = state;
  const { items, next } = value ?? noPage;
  return {
    ...rest,
    items,
    more: next !== null,
    loadMore: () => {
      if (!rest.loading && next !== null && rest.problem === null) load(false);
    },
    reload,
    refresh: () => load(true, true),
  };
}

/** Again and again while the page is seen, unless somebody has asked for more than the first page. */
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

/** New rows come in by themselves, unless somebody reads further down or has chosen a row. */
export const useRefreshAtTop = (loaded: LoadedPages<unknown>): void =>
  useRefresh(loaded, 5_000, () => {
    const rows = document.querySelector('.rows');
    return rows?.scrollTop === 0 && !rows.contains(document.activeElement);
  });
