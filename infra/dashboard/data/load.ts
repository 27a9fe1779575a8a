/** Loads what a page shows, and loads it again. */

import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ask, wordsOf } from './client.ts';

export interface Loaded<T> {
  /** What was loaded last from this path; it stays when a later load fails. */
  readonly value: T | null;
  /** Why the last load failed. */
  readonly problem: string | null;
  readonly loading: boolean;
  readonly reload: () => void;
}

/** @param everyMs while the page is seen; never without it */
export function useLoad<T>(path: string, everyMs?: number): Loaded<T> {
  const [state, setState] = useState<{
    path: string;
    value: T | null;
    problem: string | null;
    loading: boolean;
  }>({
    path,
    value: null,
    problem: null,
    loading: true,
  });
  const running = useRef<AbortController | null>(null);
  const load = useCallback(async () => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    setState((old) =>
      old.path === path ? { ...old, loading: true } : { path, value: null, problem: null, loading: true },
    );
    try {
      const value = await ask<T>(path, own.signal);
      if (!own.signal.aborted) setState({ path, value, problem: null, loading: false });
    } catch (error) {
      if (!own.signal.aborted) setState((old) => ({ ...old, problem: wordsOf(error), loading: false }));
    }
  }, [path]);
  useEffect(() => {
    void load();
    return () => running.current?.abort();
  }, [load]);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => !document.hidden && void load(), everyMs);
    return () => clearInterval(timer);
  }, [load, everyMs]);
  const { value, problem, loading } =
    state.path === path ? state : { value: null, problem: null, loading: true };
  return { value, problem, loading, reload: () => void load() };
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

export interface LoadedPages<T> {
  readonly items: readonly T[];
  /** There is more; `null` = the first page is still loaded. */
  readonly more: boolean | null;
  readonly problem: string | null;
  readonly loading: boolean;
  readonly loadMore: () => void;
  readonly reload: () => void;
  /** The first page again, without a sign of it. */
  readonly refresh: () => void;
}

/**
 * Loads page after page of one list. A page may be empty and go on, so that it asks on until there is something to show, or it has
 * asked as often as one look may cost.
 */
export function usePages<T>(
  key: string,
  load: (after: string | null, signal: AbortSignal) => Promise<Page<T>>,
): LoadedPages<T> {
  const [state, setState] = useState<{
    key: string;
    items: readonly T[];
    next: string | null | undefined;
    problem: string | null;
    loading: boolean;
  }>({ key, items: [], next: undefined, problem: null, loading: true });
  const now = useRef(state);
  now.current = state;
  const running = useRef<AbortController | null>(null);
  const loadRef = useRef(load);
  loadRef.current = load;

  const start = useCallback(
    async (fresh: boolean, quiet = false) => {
      if (quiet && now.current.loading) return;
      running.current?.abort();
      const own = new AbortController();
      running.current = own;
      const old =
        now.current.key === key
          ? now.current
          : { key, items: [], next: undefined, problem: null, loading: true };
      if (!quiet) setState({ ...old, loading: true });
      try {
        let after = fresh ? null : (old.next ?? null);
        let found: readonly T[] = [];
        for (let looks = 0; looks < mostLooks; looks += 1) {
          const page = await loadRef.current(after, own.signal);
          found = [...found, ...page.items];
          after = page.next;
          if (found.length > 0 || after === null) break;
        }
        if (own.signal.aborted) return;
        const items = fresh ? found : [...old.items, ...found];
        setState({ key, items, next: after, problem: null, loading: false });
      } catch (error) {
        if (!own.signal.aborted) setState({ ...old, key, problem: wordsOf(error), loading: false });
      }
    },
    [key],
  );
  useEffect(() => {
    void start(true);
    return () => running.current?.abort();
  }, [start]);
  const isOwn = state.key === key;
  return {
    items: isOwn ? state.items : [],
    more: isOwn && state.next !== undefined ? state.next !== null : null,
    problem: isOwn ? state.problem : null,
    loading: !isOwn || state.loading,
    loadMore: () => {
      const { loading, next, problem } = now.current;
      if (!loading && typeof next === 'string' && problem === null) void start(false);
    },
    reload: () => void start(true),
    refresh: () => void start(true, true),
  };
}

const mostLooks = 5;
