/**
 * Which IP addresses a job may call. The table follows IANA's special-purpose registries; IPv6 is refused unless it is
 * global unicast, so a range that IANA opens tomorrow stays closed until it is added here.
 */

import { BlockList, isIP } from 'node:net';

export interface AddressRefusal {
  /** The purpose of the range, for messages. */
  readonly range: string;
  /** A range of one's own machine or network: `allowPrivate` may open it for a named host. */
  readonly local: boolean;
}

type Row = readonly [cidr: string, range: string, local: boolean];

const special = false;
const local = true;

/** The first range that fits gives the name, so single addresses come before the ranges around them. */
const refusedV4: readonly Row[] = [
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
];

const refusedV6: readonly Row[] = [
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
  // Networks without IPv4 reach it through this prefix (RFC 6052), so it is judged by the IPv4 address inside.
  ...refusedV4.map(([cidr, range]): Row => {
    const [address, bits] = cidr.split('/');
    return [`64:ff9b::${address}/${96 + Number(bits)}`, `NAT64 of ${range}`, special];
  }),
];

/** Apart by version, because a BlockList takes an IPv4 address for the IPv6 address it can be mapped to. */
const refused = { ipv4: refusedV4.map(listed), ipv6: refusedV6.map(listed) };

/** The allowed ranges of IPv6: global unicast, and IPv4 behind NAT64. */
const openV6 = listOf(['2000::/3', '64:ff9b::/96']);

/** `null` for an address on the public internet; else the reason why it is not called. Takes no host names. */
export function refusalOf(address: string): AddressRefusal | null {
  const version = isIP(address);
  // A zone (`%eth0`) names an interface of this machine.
  if (version === 0 || address.includes('%')) return { range: 'not an IP address', local: special };
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const found = refused[family].find(({ addresses }) => addresses.check(address, family));
  if (found) return found;
  if (family === 'ipv4' || openV6.check(address, family)) return null;
  return { range: 'not global unicast', local: special };
}

function listed([cidr, range, isLocal]: Row): AddressRefusal & { readonly addresses: BlockList } {
  return { addresses: listOf([cidr]), range, local: isLocal };
}

function listOf(cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/');
    list.addSubnet(address, Number(bits), isIP(address) === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}
