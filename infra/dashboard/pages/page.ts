/** The definition of a page. */

import type { ComponentType } from 'preact';
import type { Session } from '../../../core/surfaces/dashboard/api.ts';

export interface ViewProps {
  /** The part of the address after the page's own path. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

export interface PageEntry {
  /** The first segment of its address. */
  readonly path: string;
  readonly title: string;
  /** The path of the page from which it is reached; without it, the page is in the navigation. */
  readonly from?: string;
  /** The shortcut after `g`. */
  readonly key?: string;
  /** Whether this session may see it; always, if absent. */
  readonly shown?: (session: Session) => boolean;
  readonly View: ComponentType<ViewProps>;
}
