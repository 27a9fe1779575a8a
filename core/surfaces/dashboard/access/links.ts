/** Development: a link that works once, and the session that it is exchanged for. */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../base/clock.ts';
import { config, shown } from '../../../base/errors.ts';
import type { DashboardDevelopment } from '../options.ts';
import { passesOf, signerOf } from './signer.ts';

const linkForMs = 15 * 60_000;
const sessionForMs = 7 * 86_400_000;
const shortestSecret = 32;
const mostLinks = 100;

export const newLinkToken = (): string => randomBytes(24).toString('base64url');

export interface DevelopmentSessions {
  /** How to get another link. */
  readonly anotherLink: string;
  newLink(): string;
  /** `false`: it was used, is too old, or never was. */
  use(token: string): boolean;
  /** For `set-cookie`. */
  begin(url: URL, path: string): string;
  /** What tells this session from others; `null` = there is none. */
  sessionOf(request: Request, url: URL): string | null;
}

export function developmentSessions(
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
  /** Until when each is good. What is compared are keys of a map: nobody guesses 192 bits by how long that takes. */
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

/** Cookies do not tell ports apart, and on one machine there may be several dashboards. */
const cookieOf = ({ port }: URL): string => `longshore-${port || 'dashboard'}`;
