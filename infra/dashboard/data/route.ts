/** The address of the page: `#/jobs/01J…?status=failed`. It is after the `#`, so that it works under any path and needs nothing from the server. */

import { type Query, queryOf } from './client.ts';
import { createStore, useStore } from './store.ts';

interface Route {
  /** Decoded segments: `['jobs', '01J…']`. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

function readRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split(/\?(.*)/s);
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** An address inside the page. */
export const linkTo = (path: readonly string[], query: Query = {}): string =>
  `#/${path.map(encodeURIComponent).join('/')}${queryOf(query)}`;

const route = createStore<Route>({ path: [], query: new URLSearchParams() });

export const useRoute = (): Route => useStore(route);

export function followAddress(): void {
  const read = (): void => route.set(readRoute(location.hash));
  addEventListener('hashchange', read);
  read();
}

export function go(link: string): void {
  location.hash = link;
}

/** Adds no entry to the history: text in a search box is not a page of its own. */
export function replaceWith(link: string): void {
  history.replaceState(null, '', link);
  route.set(readRoute(location.hash));
}
