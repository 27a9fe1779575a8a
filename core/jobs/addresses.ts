/**
 * Which IP addresses a job may call. The table follows IANA's special-purpose registries; IPv6 is refused unless it is
 * global unicast, so a range that IANA opens tomorrow stays closed until it is added here.
 */

import { isIPv4, isIPv6 } from 'node:net';

export interface AddressRefusal {
  /** What the range is for, to be read by people. */
  readonly range: string;
  /** A range of one's own machine or network: `allowPrivate` may open it for a named host. */
  readonly local: boolean;
}

const special = false;
const local = true;

/** The first range that fits gives the name, so single addresses come before the ranges around them. */
const refusedV4 = table([
  ['169.254.169.254/32', 'cloud metadata', special],
  ['168.63.129.16/32', 'cloud metadata (Azure)', special],
  ['100.100.100.200/32', 'cloud metadata (Alibaba)', special],
  ['192.0.0.192/32', 'cloud metadata (Oracle)', special],
  ['0.0.0.0/8', 'this network', special],
  ['10.0.0.0/8', 'private', local],
  ['100.64.0.0/10', 'carrier-grade NAT', local],
  ['127.0.0.0/8', 'loopback', local],
  ['169.254.0.0/16', 'link-local', special],
  ['172.16.0.0/12', 'private', local],
  ['192.0.0.0/24', 'protocol assignments', special],
  ['192.0.2.0/24', 'documentation', special],
  ['192.88.99.0/24', '6to4 relay', special],
  ['192.168.0.0/16', 'private', local],
  ['198.18.0.0/15', 'benchmarking', special],
  ['198.51.100.0/24', 'documentation', special],
  ['203.0.113.0/24', 'documentation', special],
  ['224.0.0.0/4', 'multicast', special],
  ['255.255.255.255/32', 'broadcast', special],
  ['240.0.0.0/4', 'reserved', special],
]);

const refusedV6 = table([
  ['fd00:ec2::254/128', 'cloud metadata (AWS)', special],
  ['fd20:ce::254/128', 'cloud metadata (Google)', special],
  ['::/128', 'unspecified', special],
  ['::1/128', 'loopback', local],
  ['::ffff:0:0/96', 'IPv4-mapped', special],
  ['::/96', 'IPv4-compatible', special],
  ['64:ff9b:1::/48', 'NAT64 for local use', special],
  ['100::/64', 'discard only', special],
  ['2001::/32', 'Teredo', special],
  ['2001::/23', 'protocol assignments', special],
  ['2001:db8::/32', 'documentation', special],
  ['2002::/16', '6to4', special],
  ['3fff::/20', 'documentation', special],
  ['fc00::/7', 'unique-local', local],
  ['fe80::/10', 'link-local', special],
  ['fec0::/10', 'site-local', special],
  ['ff00::/8', 'multicast', special],
]);

const globalUnicast = rangeOf('2000::/3');
/** Networks without IPv4 reach it through this prefix (RFC 6052), so it is judged by the IPv4 address inside. */
const nat64 = rangeOf('64:ff9b::/96');

/** `null` for an address on the public internet; else the reason why it is not called. Takes no host names. */
export function refusalOf(address: string): AddressRefusal | null {
  const bytes = bytesOf(address);
  if (!bytes) return { range: 'not an IP address', local: special };
  if (bytes.length === 4) return refusedV4.find((range) => holds(range, bytes)) ?? null;
  if (holds(nat64, bytes)) {
    const inside = refusalOf(bytes.slice(12).join('.'));
    return inside && { range: `NAT64 of ${inside.range}`, local: special };
  }
  const found = refusedV6.find((range) => holds(range, bytes));
  if (found) return found;
  return holds(globalUnicast, bytes) ? null : { range: 'not global unicast', local: special };
}

interface Range {
  readonly bytes: readonly number[];
  readonly bits: number;
}

function table(rows: readonly [cidr: string, range: string, local: boolean][]): (Range & AddressRefusal)[] {
  return rows.map(([cidr, range, isLocal]) => ({ ...rangeOf(cidr), range, local: isLocal }));
}

function rangeOf(cidr: string): Range {
  const [address, bits] = cidr.split('/');
  return { bytes: bytesOf(address!)!, bits: Number(bits) };
}

function holds({ bytes: first, bits }: Range, bytes: readonly number[]): boolean {
  const whole = bits >> 3;
  for (let i = 0; i < whole; i++) if (first[i] !== bytes[i]) return false;
  const rest = 8 - (bits & 7);
  return rest === 8 || first[whole]! >> rest === bytes[whole]! >> rest;
}

/** 4 or 16 numbers; `null` for anything else, an IPv6 address with a zone (`%eth0`) included. */
function bytesOf(address: string): number[] | null {
  if (isIPv4(address)) return address.split('.').map(Number);
  if (!isIPv6(address) || address.includes('%')) return null;
  const dotted = /(?<=:)[\d.]+$/.exec(address)?.[0];
  const v4 = dotted?.includes('.') ? dotted.split('.').map(Number) : null;
  const [head = '', tail] = (v4 ? address.slice(0, -dotted!.length) : address).split('::');
  const front = groups(head);
  const back = [...groups(tail ?? ''), ...(v4 ?? [])];
  return [...front, ...new Array<number>(16 - front.length - back.length).fill(0), ...back];
}

function groups(text: string): number[] {
  return text
    .split(':')
    .filter((group) => group !== '')
    .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255]);
}
