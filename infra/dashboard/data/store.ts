/** A value that parts of the page share, with notification of changes. */

import { useEffect, useState } from 'preact/hooks';

export interface Store<T> {
  get(): T;
  set(value: T): void;
  subscribe(listen: () => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listen of [...listeners]) listen();
    },
    subscribe(listen) {
      listeners.add(listen);
      return () => listeners.delete(listen);
    },
  };
}

export function useStore<T>(store: Store<T>): T {
  const [, draw] = useState({});
  useEffect(() => {
    draw({}); // it may have changed since the first drawing
    return store.subscribe(() => draw({}));
  }, [store]);
  return store.get();
}
