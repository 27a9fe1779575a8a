/** The dashboard as a function from a `Request` to a `Response`, for any server that uses fetch types. */

import { randomUUID } from 'node:crypto';
import { within } from '../../base/clock.ts';
import { config, LongshoreError, shown } from '../../base/errors.ts';
import { notOne, scoped } from '../../kernel/enqueue/backends.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { readJson } from '../http/body.ts';
import { checkBasePath, refuseOtherHosts, refuseOtherSites, report, requestIdOf } from '../http/mount.ts';
import { problemOf, Refusal } from '../http/problem.ts';
import { type Access, accessOf, type Visitor } from './access/identify.ts';
import type { Passes } from './access/signer.ts';
import { apiHeaders, page, pageFile, refusalFor, wordsOf } from './answer/responses.ts';
import type { Endpoint } from './call.ts';
import { liveFeed, liveStreams } from './live/feed.ts';
import type { DashboardOptions } from './options.ts';
import { operators } from './routes/change.ts';
import { routeFor } from './routes/table.ts';

export interface DashboardHandler {
  /** Never rejects. A failure is answered with a 5xx and emitted as an event of the app. */
  (request: Request): Promise<Response>;
  /** The token of the first link in development, so that others cannot open the dashboard; `null` otherwise. */
  readonly developmentToken: string | null;
  /** Returns a new link that works once, for 15 minutes. Throws `CONFIG` outside development. @param url its origin, without the base path */
  link(url: string): string;
  /** Ends all event streams. The client stays open. */
  close(): void;
}

const longestMs = 15_000;
/** Enough for an edited payload of 1 MB as JSON. */
const mostBodyBytes = 2 * 1_048_576;

/** Throws `CONFIG` unless exactly one of `authorize` and `development` is given. */
export function createDashboard(client: Client, options: DashboardOptions): DashboardHandler {
  const { app } = client;
  const { basePath = '', faults = null, origin = null, streams: lasts = true } = options;
  const newRequestId = options.testing?.newRequestId ?? randomUUID;
  checkAddresses(basePath, origin);
  const access = accessOf(client, options);
  const live = liveFeed(client);
  const streams = lasts ? liveStreams(live) : null;
  const endpoint: Endpoint = {
    client,
    live,
    faults,
    streams,
    tokenFor: ({ subject }) => access.tokens.issue(subject),
    operatorFor: operators(client),
  };

  async function respond(request: Request, url: URL): Promise<Response> {
    if (access.sessions) refuseOtherHosts(request, url);
    if (!`${url.pathname}/`.startsWith(`${basePath}/`)) throw nothingAt(url);
    const path = url.pathname.slice(basePath.length + 1);
    // Some hosts redirect every address to one with a trailing slash, those of the API too.
    if (path.startsWith('api/')) return answer(request, url, path.slice('api/'.length).replace(/\/$/, ''));
    if (!['GET', 'HEAD'].includes(request.method)) {
      const detail = `Expected the method GET for a page, got ${shown(request.method)}.`;
      throw new Refusal(405, 'REQUEST', detail, { headers: { allow: 'GET, HEAD' } });
    }
    const isPage = path === '';
    const entered = isPage ? enter(access, request, url, basePath) : null;
    if (entered) return entered;
    await access.identify(request, url);
    const file = await (isPage ? page(lastPiece(url)) : pageFile(path));
    if (!file) throw nothingAt(url);
    return file;
  }

  async function answer(request: Request, url: URL, path: string): Promise<Response> {
    refuseOtherSites(request);
    const visitor = await access.identify(request, url);
    const { route, parameter } = routeFor(path, request.method === 'HEAD' ? 'GET' : request.method);
    if (route.method === 'POST') {
      refuseForeignChange(request, url, origin);
      refuseReader(visitor);
      checkToken(request, visitor, access.tokens);
    }
    const body = route.method === 'POST' ? await readJson(request, mostBodyBytes) : null;
    const work = route.run(onOne(endpoint, url), { request, url, visitor, body, parameter });
    const found = await (route.lasts ? work : within(app.clock, longestMs, work, late));
    if (found instanceof Response) return found;
    return new Response(JSON.stringify(found), {
      headers: { ...apiHeaders, 'content-type': 'application/json' },
    });
  }

  async function handle(request: Request): Promise<Response> {
    const requestId = requestIdOf(request, newRequestId);
    const url = new URL(request.url);
    let response: Response;
    try {
      response = await respond(request, url);
    } catch (error) {
      const refusal = refusalFor(error);
      if (refusal.status >= 500) report(app, refusal, request.method, requestId);
      const isPage = !url.pathname.startsWith(`${basePath}/api/`);
      response = isPage ? wordsOf(refusal) : problemFor(refusal, requestId);
    }
    response.headers.set('x-request-id', requestId);
    if (request.method !== 'HEAD') return response;
    void response.body?.cancel();
    return new Response(null, response);
  }

  return Object.assign(handle, {
    developmentToken: access.sessions?.newLink() ?? null,
    link(at: string): string {
      if (!access.sessions)
        throw config('A dashboard with authorize has no links: its users sign in to your application.');
      return `${at.replace(/\/$/, '')}${basePath}/?token=${access.sessions.newLink()}`;
    },
    close: () => streams?.close(),
  });
}

/** With `backend` in the query the request is for this backend only. It is removed from the query. */
function onOne(endpoint: Endpoint, { searchParams }: URL): Endpoint {
  const name = searchParams.get('backend');
  searchParams.delete('backend');
  const { client } = endpoint;
  if (!name || !client.backends) return endpoint;
  const found = client.backends.get(name);
  if (!found) throw notOne(name, [...client.backends.keys()]);
  const one = scoped(found);
  const { audit = client.stores.audit } = one.stores;
  const only = { ...one, stores: { ...one.stores, ...(audit && { audit }) } };
  return { ...endpoint, client: only, operatorFor: operators(only) };
}

function checkAddresses(basePath: string, origin: string | null): void {
  checkBasePath(basePath, '/jobs');
  if (origin !== null && URL.parse(origin)?.origin !== origin) {
    throw config(
      `Expected origin of the dashboard to be like "https://jobs.example.com", without a path, got ${shown(origin)}.`,
    );
  }
}

/** The prefix of links that are relative to this address: its last segment, or nothing if it ends with a slash. */
const lastPiece = ({ pathname }: URL): string => pathname.slice(pathname.lastIndexOf('/') + 1);

/** In development: exchanges the token of a link for a session and redirects to the page. `null` = the address has no token. */
function enter({ sessions }: Access, request: Request, url: URL, basePath: string): Response | null {
  const token = url.searchParams.get('token');
  if (!sessions || token === null) return null;
  const headers: Record<string, string> = { ...apiHeaders, location: `./${lastPiece(url)}` };
  if (sessions.sessionOf(request, url) === null) {
    // A prefetch of the browser must not use up the link.
    if (request.method === 'HEAD' || request.headers.get('sec-purpose')?.includes('prefetch'))
      return new Response(null, { status: 204, headers: apiHeaders });
    if (!sessions.use(token)) {
      throw new Refusal(
        410,
        'UNAUTHORIZED',
        `This link was already used or has expired: each link works once, for 15 minutes. ${sessions.anotherLink}`,
      );
    }
    headers['set-cookie'] = sessions.begin(url, basePath || '/');
  }
  return new Response(null, { status: 303, headers });
}

const late = (): never => {
  throw new LongshoreError(
    'BACKEND',
    `The backend gave no answer for ${longestMs / 1000} s. Look at its server, then try again.`,
  );
};

const nothingAt = ({ pathname }: URL): Refusal =>
  new Refusal(404, 'NOT_FOUND', `Expected a path of the dashboard, got ${shown(pathname)}.`);

function problemFor(refusal: Refusal, requestId: string): Response {
  const { status, headers, issues } = refusal;
  const body = { ...problemOf(refusal), ...(issues && { issues }), requestId };
  return new Response(JSON.stringify(body), {
    status,
    headers: { ...apiHeaders, ...headers, 'content-type': 'application/problem+json' },
  });
}

/** @param origin the page's origin in the browser, if a proxy changes the host */
function refuseForeignChange(request: Request, url: URL, origin: string | null): void {
  const site = request.headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin') throw foreign('another page');
  const from = request.headers.get('origin');
  if (from === null) return;
  const hosts = [url.host, request.headers.get('host'), origin === null ? null : URL.parse(origin)?.host];
  const host = URL.parse(from)?.host;
  if (host === undefined || !hosts.includes(host)) throw foreign('a page of another origin');
}

function refuseReader({ role, actor }: Visitor): void {
  if (role === 'operator') return;
  throw new Refusal(
    403,
    'FORBIDDEN',
    `${JSON.stringify(actor)} is a reader and cannot change anything. Ask an operator.`,
  );
}

/** Protects from CSRF: another site can send requests with our cookies, but cannot read the token. */
function checkToken(request: Request, { subject }: Visitor, tokens: Passes): void {
  const given = request.headers.get('x-longshore-token');
  if (given !== null && tokens.accepts(subject, given)) return;
  throw new Refusal(
    403,
    'TOKEN',
    `Expected the token of this session in x-longshore-token, got ${given === null ? 'none' : 'another, or one that is too old'}. Nothing was changed. Reload the page.`,
  );
}

const foreign = (got: string): Refusal =>
  new Refusal(
    403,
    'FORBIDDEN',
    `Expected a change to come from the dashboard's own page, got one of ${got}. Behind a proxy that changes the host, set origin.`,
  );
