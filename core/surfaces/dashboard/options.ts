/** The options of a dashboard. */

import type { FaultInfo, FaultResult } from './api.ts';

export interface DashboardUser {
  /** The user's name in the audit log. 1 to 256 characters. */
  readonly actor: string;
  /** A reader may look but not change anything. */
  readonly role: 'operator' | 'reader';
  /** Where the request comes from, for the audit log: an IP address, for example. At most 200 characters. */
  readonly from?: string;
}

/** Identifies the user of a request. `null` = no access. Must not read the request's body. */
export type DashboardAuthorize = (request: Request) => DashboardUser | null | Promise<DashboardUser | null>;

export interface DashboardDevelopment {
  /** The user's name in the audit log. @default 'development' */
  readonly actor?: string;
  /** Signs sessions, so that they survive a restart: at least 32 random characters. @default a random one of this process */
  readonly secret?: string;
  /** Tells the user how to get a new link, on the page that refuses an old one: `Press Enter in its terminal.` */
  readonly anotherLink?: string;
}

/** Faults that a user can cause on purpose, in development only. */
export interface DashboardFaults {
  readonly list: readonly FaultInfo[];
  /** Rejects with a message for the user. */
  cause(name: string): Promise<FaultResult>;
}

/** Give exactly one of `authorize` and `development`. */
export interface DashboardOptions {
  /** Identifies the user of each request, with the role. */
  readonly authorize?: DashboardAuthorize;
  /** Lets in visitors with a one-time link, and serves only localhost, 127.0.0.1 and [::1]. */
  readonly development?: true | DashboardDevelopment;
  readonly faults?: DashboardFaults;
  /** The path where it is mounted, like `/jobs`. @default '' */
  readonly basePath?: string;
  /** Its origin in the browser, if a proxy changes the host: `https://jobs.example.com`. @default the origin of the request */
  readonly origin?: string;
  /** `false` = the host cannot stream answers (a function, for example), so the page polls. @default true */
  readonly streams?: boolean;
  /** For tests: replaces request ids (random UUIDs) and link tokens (192 random bits). */
  readonly testing?: { readonly newRequestId?: () => string; readonly newToken?: () => string };
}
