/** Authenticates callers. Every caller needs a credential; a handler without `apiKeys` or `authorize` cannot be created. */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { isName, namePattern } from '../../base/checks.ts';
import { config, LongshoreError, shown } from '../../base/errors.ts';
import { faultOf, isKept } from '../../base/text.ts';
import type { App } from '../../kernel/app/app.ts';
import { authorized } from './mount.ts';
import { Refusal } from './problem.ts';

export interface ApiKey {
  /** Name of the key in logs, and `context.actorId` of its jobs. Not secret. */
  readonly id: string;
  /** The secret that the caller sends as `Authorization: Bearer …`: at least 32 random characters. */
  readonly key: string;
  /** Names of the jobs that this key may enqueue, see and cancel. @default all jobs of the app */
  readonly jobs?: readonly string[];
  /** The tenant of this key: its jobs are enqueued for the tenant, and it sees only the tenant's jobs. @default sees all tenants */
  readonly tenantId?: string;
  /** Whether this key may create, see and change schedules, for its jobs and its tenant. @default false */
  readonly schedules?: boolean;
  /** Events that this key may emit, to jobs of any name; with `tenantId` only to jobs of the tenant. `true` = all. @default none */
  readonly events?: readonly string[] | true;
}

/** The result of `authorize`: what a caller may do. */
export interface Authorization {
  /** The tenant of this caller: its jobs are enqueued for the tenant, and it sees only the tenant's jobs. `null` = sees all tenants. */
  readonly tenantId: string | null;
  /** `context.actorId` of the jobs that this caller enqueues. */
  readonly actorId?: string;
  /** Names of the jobs that this caller may enqueue, see and cancel. @default all jobs of the app */
  readonly jobs?: readonly string[];
  /** Whether this caller may create, see and change schedules, for its jobs and its tenant. @default false */
  readonly schedules?: boolean;
  /** Events that this caller may emit, to jobs of any name; with a tenant only to jobs of the tenant. `true` = all. @default none */
  readonly events?: readonly string[] | true;
}

/** Authenticates a request. `null` = refused. Must not read the request's body. */
export type Authorize = (request: Request) => Authorization | null | Promise<Authorization | null>;

export interface Caller {
  readonly tenantId: string | null;
  readonly actorId: string | null;
  /** `null` = all. */
  readonly jobs: ReadonlySet<string> | null;
  readonly schedules: boolean;
  /** `null` = all. */
  readonly events: ReadonlySet<string> | null;
}

type Bound = Pick<Caller, 'jobs' | 'events'>;

/** Throws 401 for an unknown caller. */
export type Authenticate = (request: Request) => Caller | Promise<Caller>;

export const newDevelopmentToken = (): string => randomBytes(24).toString('base64url');

/** The characters of a bearer token (RFC 6750). */
const token = /^[A-Za-z0-9._~+/-]+=*$/;
const bearer = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i;
const shortestKey = 32;
const makeOne = 'Make one with `openssl rand -base64 32`.';

export function byKeys(keys: readonly ApiKey[], app: App): Authenticate {
  if (!Array.isArray(keys) || keys.length === 0) {
    throw config(`Expected apiKeys to be a list of at least one key, got ${shown(keys)}. ${makeOne}`);
  }
  const ids = new Set<string>();
  const known = keys.map((entry) => {
    checkKey(entry, app);
    if (ids.has(entry.id)) throw config(`Two apiKeys are called "${entry.id}". Give every key its own id.`);
    ids.add(entry.id);
    const { id, key, jobs, tenantId = null, schedules = false, events = [] } = entry;
    const bound: Bound = { jobs: jobs ? new Set(jobs) : null, events: eventsOf(events) };
    const caller: Caller = { tenantId, actorId: id, schedules, ...bound };
    return { digest: sha256(key), caller };
  });
  if (new Set(keys.map(({ key }) => key)).size < keys.length) {
    throw config('Two apiKeys are the same. Give every caller a key of its own.');
  }
  return (request) => {
    const header = request.headers.get('authorization');
    const given = bearer.exec(header ?? '')?.[1];
    if (given === undefined) throw unauthorized(header === null ? 'none' : 'another kind of credential');
    const digest = sha256(given);
    let caller: Caller | null = null;
    // Compares the digests with all keys in constant time, so the time leaks nothing about a key.
    for (const one of known) if (timingSafeEqual(one.digest, digest)) caller = one.caller;
    if (!caller) throw unauthorized('one that is not known');
    return caller;
  };
}

function checkKey(entry: ApiKey, app: App): void {
  const { id, key, jobs } = entry;
  if (typeof id !== 'string' || !namePattern.test(id)) {
    throw config(`Expected the id of an API key to match ${namePattern}, got ${shown(id)}.`);
  }
  if (typeof key !== 'string' || key.length < shortestKey || !token.test(key)) {
    const got = typeof key === 'string' ? `${key.length} characters` : shown(key);
    throw config(
      `Expected API key "${id}" to have at least ${shortestKey} characters of A-Z a-z 0-9 . _ ~ + / -, got ${got}. ${makeOne}`,
    );
  }
  if (entry.schedules !== undefined && typeof entry.schedules !== 'boolean')
    throw config(`Expected schedules of API key "${id}" to be a boolean, got ${shown(entry.schedules)}.`);
  const { events = [] } = entry;
  if (!areEvents(events))
    throw config(
      `Expected events of API key "${id}" to be a list of names that match ${namePattern}, or true for all, got ${shown(events)}.`,
    );
  if (jobs !== undefined) {
    if (!Array.isArray(jobs) || jobs.length === 0) {
      throw config(
        `Expected jobs of API key "${id}" to be a list of names, got ${shown(jobs)}. Leave it out for all jobs.`,
      );
    }
    const unknown = jobs.find((name) => !app.jobs.has(name));
    if (unknown !== undefined) {
      throw config(`API key "${id}" names job ${shown(unknown)}, which is not among the app's jobs.`);
    }
  }
  // `tenantId: undefined` may come from a misspelt variable, and would give access to every tenant.
  if ('tenantId' in entry && !isTenant(entry.tenantId)) {
    throw config(
      `Expected tenantId of API key "${id}" to be a text ${faultOf(entry.tenantId)}. Leave it out for a key that is bound to no tenant.`,
    );
  }
}

export function byAuthorize(authorize: Authorize): Authenticate {
  if (typeof authorize !== 'function')
    throw config(`Expected authorize to be a function, got ${shown(authorize)}.`);
  return async (request) => {
    const detail = 'Expected the credential to be checked, but the check failed. Repeat the request later.';
    const answer = await authorized(authorize, request, detail);
    if (answer === null) throw unauthorized('one that is not accepted, or none');
    const { tenantId, actorId, jobs, schedules, events = [] } = answer ?? {};
    const fits =
      (tenantId === null || isTenant(tenantId)) &&
      (actorId === undefined || isTenant(actorId)) &&
      (jobs === undefined || (Array.isArray(jobs) && jobs.every((name) => typeof name === 'string'))) &&
      areEvents(events);
    if (!fits || request.bodyUsed) {
      // A mistake in the app's code. A missing tenant must not mean "all tenants".
      throw new LongshoreError(
        'CONFIG',
        'authorize() must return null or { tenantId: text or null, actorId?: text, jobs?: names, events?: names or true }, and leave the body unread.',
      );
    }
    const bound: Bound = { jobs: jobs ? new Set(jobs) : null, events: eventsOf(events) };
    return { tenantId, actorId: actorId ?? null, schedules: schedules === true, ...bound };
  };
}

function unauthorized(got: string): Refusal {
  const challenge = `Bearer realm="longshore"${got === 'none' ? '' : ', error="invalid_token"'}`;
  return new Refusal(
    401,
    'UNAUTHORIZED',
    `Expected a credential, got ${got}. Send the header "Authorization: Bearer <key>".`,
    { headers: { 'www-authenticate': challenge } },
  );
}

const isTenant = (value: unknown): value is string => isKept(value);
const areEvents = (events: unknown): boolean =>
  events === true || (Array.isArray(events) && events.every(isName));
const eventsOf = (events: readonly string[] | true): ReadonlySet<string> | null =>
  events === true ? null : new Set(events);
const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();
