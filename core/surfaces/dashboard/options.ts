/** What a dashboard is given, and who may use it. */

import type { FaultInfo, FaultResult } from './api.ts';

export interface DashboardUser {
  /** Names the user in the audit log. 1 to 256 characters. */
  readonly actor: string;
  /** A reader changes nothing. */
  readonly role: 'operator' | 'reader';
  /** From where, for the audit log: an address, for example. At most 200 characters. */
  readonly from?: string;
}

/** `null` = not let in. Must not read the request's body. */
export type DashboardAuthorize = (request: Request) => DashboardUser | null | Promise<DashboardUser | null>;

export interface DashboardDevelopment {
  /** Who acts, for the audit log. @default 'development' */
  readonly actor?: string;
  /** Signs sessions, so that they outlive a restart of the process: at least 32 characters, made at random. @default one of this process */
  readonly secret?: string;
  /** How to get another link, for the page that refuses one: `Press Enter in its terminal.` */
  readonly anotherLink?: string;
}

/** What can be caused on purpose, in development only. */
export interface DashboardFaults {
  readonly list: readonly FaultInfo[];
  /** Rejects with words for people. */
  cause(name: string): Promise<FaultResult>;
}

/** Give exactly one of `authorize` and `development`: it decides who may look, and who may change something. */
export interface DashboardOptions {
  readonly authorize?: DashboardAuthorize;
  /** One-time links, and answers under the names of this machine only. */
  readonly development?: true | DashboardDevelopment;
  readonly faults?: DashboardFaults;
  /** Where it is mounted, for example `/jobs`. @default '' */
  readonly basePath?: string;
  /** Its address for browsers, where a proxy changes the host: `https://jobs.example.com`. @default that of the request */
  readonly origin?: string;
  /** Whether answers may last: `false` where a function answers at once. @default true */
  readonly streams?: boolean;
  /** For tests: ids of requests (random UUIDs) and tokens of links (192 random bits). */
  readonly testing?: { readonly newRequestId?: () => string; readonly newToken?: () => string };
}
