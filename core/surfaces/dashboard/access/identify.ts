/** Identifies the visitor. An unknown visitor gets a 401. */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { config, LongshoreError, shown } from '../../../base/errors.ts';
import { isKept } from '../../../base/text.ts';
import type { Client } from '../../../kernel/enqueue/client.ts';
import { authorized } from '../../http/mount.ts';
import { Refusal } from '../../http/problem.ts';
import type {
  DashboardAuthorize,
  DashboardDevelopment,
  DashboardOptions,
  DashboardUser,
} from '../options.ts';
import { type Passes, passesOf, signerOf, signerOfKeyRing } from './signer.ts';

/** A page that stays open for longer requests a new token. */
const tokenForMs = 12 * 3_600_000;

export interface Visitor extends DashboardUser {
  /** The change token is bound to this subject. */
  readonly subject: string;
}

export interface Access {
  /** `null` if `authorize` is used. */
  readonly sessions: DevelopmentSessions | null;
  /** Tokens for changes. */
  readonly tokens: Passes;
  /** Throws 401 for a visitor without access. */
  identify(request: Request, url: URL): Promise<Visitor>;
}

/** Throws `CONFIG` unless exactly one of `authorize` and `development` is given. */
export function accessOf(client: Client, options: DashboardOptions): Access {
  const { authorize, development } = options;
  const given = [authorize !== undefined, development !== undefined];
  if (given.filter(Boolean).length !== 1) {
    throw config(
      `Expected exactly one of authorize and development for the dashboard, got ${given.some(Boolean) ? 'both' : 'none'}. Without one everybody could see the jobs and discard them.`,
    );
  }
  if (authorize !== undefined) return byAuthorize(client, authorize, options);
  return inDevelopment(client, options);
}

function byAuthorize({ app }: Client, authorize: DashboardAuthorize, { faults }: DashboardOptions): Access {
  if (typeof authorize !== 'function')
    throw config(`Expected authorize of the dashboard to be a function, got ${shown(authorize)}.`);
  if (faults)
    throw config('Expected faults of the dashboard in development only, got them beside authorize.');
  const tokens = passesOf(
    signerOfKeyRing(() => app.keyRing()),
    app.clock,
    'dashboard token',
    tokenForMs,
  );
  return {
    sessions: null,
    tokens,
    async identify(request) {
      const detail = 'authorize() of this dashboard failed, so you could not be identified. Try again later.';
      const user = await authorized(authorize, request, detail);
      if (user === null)
        throw new Refusal(
          401,
          'UNAUTHORIZED',
          'You are not signed in, or may not see this dashboard. Sign in to the application that it belongs to.',
        );
      checkUser(user, request);
      return { ...user, subject: JSON.stringify([user.actor, user.role]) };
    },
  };
}

const roles: readonly unknown[] = ['operator', 'reader'];

function checkUser(user: DashboardUser | undefined, request: Request): void {
  const { actor, role, from = '-' } = user ?? ({} as Partial<DashboardUser>);
  if (isKept(actor, 256) && roles.includes(role) && isKept(from, 200) && !request.bodyUsed) return;
  throw new LongshoreError(
    'CONFIG',
    "authorize() of the dashboard must return null or { actor: text, role: 'operator' or 'reader', from?: text }, and leave the body unread.",
  );
}

function inDevelopment({ app }: Client, options: DashboardOptions): Access {
  const development = options.development === true ? {} : options.development!;
  if (typeof development !== 'object' || development === null)
    throw config(`Expected development of the dashboard to be true or an object, got ${shown(development)}.`);
  const { actor = 'development' } = development;
  if (!isKept(actor, 256))
    throw config(
      `Expected development.actor of the dashboard to be a text of 1 to 256 characters, got ${shown(actor)}.`,
    );
  const sessions = developmentSessions(app.clock, development, options.testing?.newToken ?? newLinkToken);
  const secret = development.secret ? new TextEncoder().encode(development.secret) : randomBytes(32);
  return {
    sessions,
    tokens: passesOf(signerOf(secret), app.clock, 'dashboard token', tokenForMs),
    async identify(request, url) {
      const session = sessions.sessionOf(request, url);
      if (session !== null) return { actor, role: 'operator', from: url.host, subject: session };
      throw new Refusal(
        401,
        'UNAUTHORIZED',
        `There is no session, or it has expired. Open the link that the dashboard printed when it started; if you just have, reload this page. ${sessions.anotherLink}`,
      );
    },
  };
}

const linkForMs = 15 * 60_000;
const sessionForMs = 7 * 86_400_000;
const shortestSecret = 32;
const mostLinks = 100;

const newLinkToken = (): string => randomBytes(24).toString('base64url');

/** Links that work once, and the sessions that they are exchanged for. */
interface DevelopmentSessions {
  /** A sentence that says how to get a new link. */
  readonly anotherLink: string;
  newLink(): string;
  /** `false` = the link was used, has expired or never existed. */
  use(token: string): boolean;
  /** Starts a session and returns its `set-cookie` header. */
  begin(url: URL, path: string): string;
  /** A text that is unique to the session; `null` = no session. */
  sessionOf(request: Request, url: URL): string | null;
}

function developmentSessions(
  clock: Clock,
  {
    secret = newLinkToken(),
    anotherLink = 'Start the dashboard again for another one.',
  }: DashboardDevelopment,
  newToken: () => string,
): DevelopmentSessions {
  if (typeof secret !== 'string' || secret.length < shortestSecret) {
    throw config(
      `Expected development.secret of the dashboard to have at least ${shortestSecret} characters, got ${typeof secret === 'string' ? secret.length : shown(secret)}. Leave it out for one of this process.`,
    );
  }
  const passes = passesOf(
    signerOf(new TextEncoder().encode(secret)),
    clock,
    'dashboard session',
    sessionForMs,
  );
  /** Expiry of each link. A map lookup is not constant-time, but 192 bits cannot be guessed by timing. */
  const links = new Map<string, number>();
  return {
    anotherLink,
    newLink() {
      const token = newToken();
      links.set(token, clock.now() + linkForMs);
      if (links.size > mostLinks) links.delete(links.keys().next().value!);
      return token;
    },
    use(token) {
      const until = links.get(token);
      links.delete(token);
      return until !== undefined && clock.now() < until;
    },
    begin(url, path) {
      const id = newLinkToken();
      const pass = `${id}.${passes.issue(id)}`;
      return `${cookieOf(url)}=${pass}; HttpOnly; SameSite=Strict; Path=${path}; Max-Age=${sessionForMs / 1000}`;
    },
    sessionOf(request, url) {
      const wanted = `${cookieOf(url)}=`;
      const cookies = (request.headers.get('cookie') ?? '').split(';').map((text) => text.trim());
      for (const cookie of cookies.filter((text) => text.startsWith(wanted))) {
        const [, id = '', pass = ''] = /^([\w-]{16,64})\.(.+)$/.exec(cookie.slice(wanted.length)) ?? [];
        if (passes.accepts(id, pass)) return id;
      }
      return null;
    },
  };
}

/** The name includes the port: cookies ignore ports, and one machine may run several dashboards. */
const cookieOf = ({ port }: URL): string => `longshore-${port || 'dashboard'}`;
