/** Where a URL job may go: scheme, host, and every address the host has at this moment. */

import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import { config, shown } from '../base/errors.ts';
import { refusalOf } from './addresses.ts';
import { checkTexts } from './checks.ts';

export type Address = Readonly<LookupAddress>;

/** All addresses of a host name, like `dns.promises.lookup(name, { all: true })`. */
export type Lookup = (hostname: string) => Promise<readonly Address[]>;

export type TargetPolicy = Readonly<ReturnType<typeof targetPolicy>>;

export function targetPolicy(
  allowHosts: readonly string[] | undefined,
  allowPrivate: readonly string[] = [],
  factory = 'urlJob',
) {
  if (allowHosts !== undefined) {
    checkTexts(factory, 'allowHosts', allowHosts);
    for (const entry of allowHosts) checkHostRule(entry);
  }
  checkTexts(factory, 'allowPrivate', allowPrivate);
  for (const entry of allowPrivate) checkHostAndPort(entry, factory);
  return {
    /** Without it any public host. */
    hosts: allowHosts,
    /** `host:port` whose local addresses may be called. */
    open: new Set(allowPrivate),
  };
}

function checkHostRule(entry: string): void {
  const host = entry.startsWith('*.') ? entry.slice(2) : entry;
  const isWild = host !== entry;
  // A wildcard over a whole top-level domain, or below an address, is a mistake.
  if (isCanonicalHost(host) && !(isWild && (isIP(bare(host)) !== 0 || !host.includes('.')))) return;
  throw config(
    `urlJob() expects each of allowHosts to be a host in lower case like "api.example.com" or "*.example.com", without scheme, port or path, got ${shown(entry)}.`,
  );
}

function checkHostAndPort(entry: string, factory: string): void {
  const [, host, port] = /^(.+):([1-9]\d{0,4})$/.exec(entry) ?? [];
  if (host && isCanonicalHost(host) && Number(port) <= 65_535) return;
  throw config(
    `${factory}() expects each of allowPrivate to be one host with its port like "localhost:3000" or "[::1]:3000", got ${shown(entry)}.`,
  );
}

/** Written as a URL's `hostname` is, so that comparing is comparing text. */
function isCanonicalHost(host: string): boolean {
  if (!/^[a-z0-9._[\]:-]+$/.test(host) || host.endsWith('.')) return false;
  const url = URL.parse(`http://${host}/`);
  return url?.hostname === host && url.port === '';
}

/** The URL, its fragment and the root dot of its host removed; or what is wrong with it, without its text. */
export function parseTarget(text: string, base?: URL): URL | string {
  // The parser would drop line breaks and tabs in silence, and no URL contains them.
  if (text.length > 8192) return 'expected a URL of at most 8192 characters';
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  if (/[\u0000-\u0020\u007f]/.test(text)) return 'expected a URL without spaces and control characters';
  const url = URL.parse(text, base?.href);
  if (!url) return 'expected an absolute URL like "https://api.example.com/hook"';
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return `expected the scheme http or https, got ${shown(url.protocol)}`;
  if (url.username !== '' || url.password !== '')
    return 'expected a URL without user name and password; send an authorization header';
  url.hash = '';
  if (url.hostname.endsWith('.')) url.hostname = url.hostname.slice(0, -1);
  return url;
}

/** Checks without asking DNS; `null` = no objection. */
export function refuseTarget(url: URL, policy: TargetPolicy): string | null {
  const { hostname } = url;
  if (policy.hosts && !policy.hosts.some((rule) => matches(rule, hostname)))
    return `host ${shown(hostname)} is not in allowHosts`;
  const address = bare(hostname);
  return isIP(address) === 0 ? null : refuseAddress(url, address, policy);
}

function matches(rule: string, hostname: string): boolean {
  return rule.startsWith('*.') ? hostname.endsWith(rule.slice(1)) : hostname === rule;
}

/**
 * The addresses to connect to. ALL addresses of the host must be allowed: a name that mixes public with private ones
 * is hoping that the client picks the second. Resolves with the reason when one is not.
 */
export async function addressesOf(
  url: URL,
  policy: TargetPolicy,
  lookup: Lookup,
): Promise<readonly Address[] | string> {
  const literal = bare(url.hostname);
  const family = isIP(literal);
  if (family !== 0) return [{ address: literal, family }];
  const found = await lookup(url.hostname);
  for (const { address } of found) {
    const refused = refuseAddress(url, address, policy);
    if (refused) return refused;
  }
  // The family is read from the checked text, whatever the lookup says about it.
  return found.map(({ address }) => ({ address, family: isIP(address) }));
}

function refuseAddress(url: URL, address: string, policy: TargetPolicy): string | null {
  const refusal = refusalOf(address);
  if (!refusal || (refusal.local && policy.open.has(`${url.hostname}:${portOf(url)}`))) return null;
  return `host ${shown(url.hostname)} has the address ${shown(address)} (${refusal.range}), and only public ones are called`;
}

export const portOf = (url: URL): number => Number(url.port) || (url.protocol === 'https:' ? 443 : 80);

/** An IPv6 host without its brackets. */
export const bare = (hostname: string): string =>
  hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;

/** For messages and logs: no query (it may hold a token), no fragment, no credentials. */
export function shownUrl(url: URL): string {
  const text = `${url.protocol}//${url.host}${url.pathname}`;
  return text.length > 200 ? `${text.slice(0, 197)}...` : text;
}
