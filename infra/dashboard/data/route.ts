/** Where the page is: `#/jobs/01J…?status=failed`. After the `#`, so that it works under any path and needs nothing of the server. */

import { type Query, queryOf } from './client.ts';
import { createStore, useStore } from './store.ts';

interface Route {
  /** Decoded pieces: `['jobs', '01J…']`. */
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

/** Without a step in the history: what is typed into a search box is no page of its own. */
export function replaceWith(link: string): void {
  history.replaceState(null, '', link);
  route.set(readRoute(location.hash));
}
