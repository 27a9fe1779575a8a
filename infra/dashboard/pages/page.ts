/** What a page is. */

import type { ComponentType } from 'preact';
import type { Session } from '../../../core/dashboard/api.ts';

export interface ViewProps {
  /** What follows the page's own path in the address. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export interface PageEntry {
  /** The first piece of its address. */
  readonly path: string;
  /** In the navigation; `null` = it is reached from another page. */
  readonly title: string | null;
  /** Of a page without a title. */
  readonly name?: string;
  /** After `g`. */
  readonly key?: string;
  /** Paths that belong to this one in the navigation. */
  readonly covers?: readonly string[];
  /** Whether it is for this session; always without it. */
  readonly shown?: (session: Session) => boolean;
  readonly View: ComponentType<ViewProps>;
}
