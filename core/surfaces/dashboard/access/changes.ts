/** Who changes something must be an operator, on our own page. */

import { Refusal } from '../../http/problem.ts';
import type { Visitor } from './identify.ts';
import type { Passes } from './signer.ts';

/** @param origin of browsers, where a proxy changes the host */
export function refuseForeignChange(request: Request, url: URL, origin: string | null): void {
  const site = request.headers.get('sec-fetch-site');
  if (site !== null && site !== 'same-origin') throw foreign('another page');
  const from = request.headers.get('origin');
  if (from === null) return;
  const hosts = [url.host, request.headers.get('host'), origin === null ? null : URL.parse(origin)?.host];
  const host = URL.parse(from)?.host;
  if (host === undefined || !hosts.includes(host)) throw foreign('a page of another origin');
}

export function refuseReader({ role, actor }: Visitor): void {
  if (role === 'operator') return;
  throw new Refusal(
    403,
    'FORBIDDEN',
    `Expected an operator, got ${JSON.stringify(actor)}, who may only look. Ask somebody who may change something.`,
  );
}

/** A page of another site can send a request with the cookies of ours, and cannot read what it would need for this. */
export function checkToken(request: Request, { subject }: Visitor, tokens: Passes): void {
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
