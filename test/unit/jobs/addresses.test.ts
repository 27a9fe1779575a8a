import { BlockList, isIPv4 } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { refusalOf } from '../../../core/jobs/addresses.ts';

/** Every range that must be closed, with the name by which it is refused. Written apart from the code's own table. */
const closed: readonly [cidr: string, name: string][] = [
  ['0.0.0.0/8', 'this network'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'carrier-grade NAT'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'protocol assignments'],
  ['192.0.2.0/24', 'documentation'],
  ['192.88.99.0/24', '6to4 relay'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['240.0.0.0/4', 'reserved'],
  ['168.63.129.16/32', 'cloud metadata (Azure)'],
  ['::ffff:0:0/96', 'IPv4-mapped'],
  ['64:ff9b:1::/48', 'NAT64 for local use'],
  ['100::/64', 'discard only'],
  ['2001::/23', 'protocol assignments'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4'],
  ['3fff::/20', 'documentation'],
  ['fc00::/7', 'unique-local'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'site-local'],
  ['ff00::/8', 'multicast'],
];

/** Node's own address arithmetic is the judge: an address is public when no closed range holds it. */
const oracle = new BlockList();
for (const [cidr] of closed) {
  const [net, bits] = cidr.split('/') as [string, string];
  if (net !== '::ffff:0:0') oracle.addSubnet(net, Number(bits), isIPv4(net) ? 'ipv4' : 'ipv6');
}
const unicast = new BlockList();
unicast.addSubnet('2000::', 3, 'ipv6');
const isPublic = (address: string): boolean =>
  isIPv4(address)
    ? !oracle.check(address, 'ipv4')
    : unicast.check(address, 'ipv6') && !oracle.check(address, 'ipv6');

const v4Text = (n: bigint): string => [24n, 16n, 8n, 0n].map((at) => (n >> at) & 255n).join('.');
const v6Text = (n: bigint): string =>
  [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((at) => ((n >> at) & 0xffffn).toString(16)).join(':');

function number(address: string): bigint {
  if (isIPv4(address)) return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
  const [head = '', tail = ''] = address.split('::');
  const front = head.split(':').filter(Boolean);
  const back = tail.split(':').filter(Boolean);
  const all = [...front, ...new Array<string>(8 - front.length - back.length).fill('0'), ...back];
  return all.reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

function edges(cidr: string) {
  const [net, bits] = cidr.split('/') as [string, string];
  const width = isIPv4(net) ? 32n : 128n;
  const first = number(net);
  const last = first + (1n << (width - BigInt(bits))) - 1n;
  const text = width === 32n ? v4Text : v6Text;
  const outside = [first - 1n, last + 1n].filter((n) => n >= 0n && n < 1n << width);
  return { first, last, text, outside: outside.map(text) };
}

describe('a closed range', () => {
  it.each(closed)('%s is refused from its first to its last address', (cidr, name) => {
    const { first, last, text } = edges(cidr);
    const middle = first + (last - first) / 2n;
    for (const n of [last, middle, first]) {
      const address = text(n);
      const range = refusalOf(address)?.range;
      expect({ address, refused: range !== undefined }).toEqual({ address, refused: true });
      // Teredo begins where the range around it does.
      if (n === first && cidr !== '2001::/23') expect(range).toBe(name);
    }
    fc.assert(
      fc.property(fc.bigInt({ min: first, max: last }), (n) => refusalOf(text(n)) !== null),
      { numRuns: 200, seed: 1 },
    );
  });

  it.each(closed)('%s ends where it ends', (cidr) => {
    for (const address of edges(cidr).outside) {
      expect({ address, open: refusalOf(address) === null }).toEqual({ address, open: isPublic(address) });
    }
  });
});

describe('any address', () => {
  it('of IPv4 is judged as the ranges say', () => {
    const any = fc.bigInt({ min: 0n, max: (1n << 32n) - 1n }).map(v4Text);
    fc.assert(
      fc.property(any, (address) => (refusalOf(address) === null) === isPublic(address)),
      { numRuns: 5_000, seed: 2 },
    );
  });

  it('of IPv6 is judged as the ranges say, NAT64 by the address inside', () => {
    const far = fc.bigInt({ min: 0n, max: (1n << 128n) - 1n });
    const near = fc.constantFrom('2000::', '2001:200::', '2003::', '2600::', '3fff:1000::').map(number);
    const any = fc.oneof(
      far,
      fc.tuple(near, fc.bigInt({ min: 0n, max: 1n << 64n })).map(([a, b]) => a + b),
    );
    fc.assert(
      fc.property(any.map(v6Text), (address) => (refusalOf(address) === null) === isPublic(address)),
      { numRuns: 5_000, seed: 3 },
    );
    const inside = fc.bigInt({ min: 0n, max: (1n << 32n) - 1n });
    fc.assert(
      fc.property(inside, (n) => {
        const address = v6Text(number('64:ff9b::') + n);
        return (refusalOf(address) === null) === isPublic(v4Text(n));
      }),
      { numRuns: 2_000, seed: 4 },
    );
  });
});

describe('public addresses', () => {
  it.each([
    '1.0.0.1',
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '52.94.236.248',
    '93.184.216.34',
    '100.63.255.255',
    '100.128.0.0',
    '126.255.255.255',
    '128.0.0.0',
    '168.63.129.15',
    '168.63.129.17',
    '169.253.255.255',
    '169.255.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '191.255.255.255',
    '192.0.1.0',
    '192.0.3.0',
    '192.31.196.1',
    '192.88.98.255',
    '192.88.100.0',
    '192.167.255.255',
    '192.169.0.0',
    '198.17.255.255',
    '198.20.0.0',
    '198.51.99.255',
    '198.51.101.0',
    '203.0.112.255',
    '203.0.114.0',
    '223.255.255.255',
    '2000::',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2003::1',
    '2400:cb00:2048:1::c629:d7a2',
    '2606:4700:4700::1111',
    '2620:4f:8000::1',
    '2a00:1450:4001:81b::200e',
    '3ffe:ffff::1',
    '64:ff9b::8.8.8.8',
    '64:ff9b::5db8:d822',
  ])('%s may be called', (address) => {
    expect(refusalOf(address)).toBeNull();
  });
});

describe('addresses that must not be called', () => {
  it.each([
    ['0.0.0.0', 'this network'],
    ['0.1.2.3', 'this network'],
    ['0.255.255.255', 'this network'],
    ['10.0.0.1', 'private'],
    ['10.255.255.255', 'private'],
    ['100.64.0.1', 'carrier-grade NAT'],
    ['100.100.100.200', 'cloud metadata (Alibaba)'],
    ['100.127.255.255', 'carrier-grade NAT'],
    ['127.0.0.1', 'loopback'],
    ['127.0.1.1', 'loopback'],
    ['127.255.255.255', 'loopback'],
    ['168.63.129.16', 'cloud metadata (Azure)'],
    ['169.254.0.1', 'link-local'],
    ['169.254.169.254', 'cloud metadata'],
    ['169.254.169.253', 'link-local'],
    ['169.254.170.2', 'link-local'],
    ['169.254.255.255', 'link-local'],
    ['172.16.0.1', 'private'],
    ['172.17.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.0.0.8', 'protocol assignments'],
    ['192.0.0.192', 'cloud metadata (Oracle)'],
    ['192.0.2.1', 'documentation'],
    ['192.88.99.1', '6to4 relay'],
    ['192.168.0.1', 'private'],
    ['192.168.255.255', 'private'],
    ['198.18.0.1', 'benchmarking'],
    ['198.19.255.255', 'benchmarking'],
    ['198.51.100.7', 'documentation'],
    ['203.0.113.9', 'documentation'],
    ['224.0.0.1', 'multicast'],
    ['239.255.255.250', 'multicast'],
    ['240.0.0.1', 'reserved'],
    ['255.255.255.254', 'reserved'],
    ['255.255.255.255', 'broadcast'],
    ['::', 'unspecified'],
    ['::1', 'loopback'],
    ['0:0:0:0:0:0:0:1', 'loopback'],
    ['::0001', 'loopback'],
    ['::2', 'IPv4-compatible'],
    ['::127.0.0.1', 'IPv4-compatible'],
    ['::7f00:1', 'IPv4-compatible'],
    ['::8.8.8.8', 'IPv4-compatible'],
    ['::ffff:127.0.0.1', 'IPv4-mapped'],
    ['::ffff:7f00:1', 'IPv4-mapped'],
    ['::FFFF:10.0.0.1', 'IPv4-mapped'],
    ['0:0:0:0:0:ffff:169.254.169.254', 'IPv4-mapped'],
    ['::ffff:8.8.8.8', 'IPv4-mapped'],
    ['::ffff:0:127.0.0.1', 'not global unicast'],
    ['64:ff9b::127.0.0.1', 'NAT64 of loopback'],
    ['64:ff9b::a9fe:a9fe', 'NAT64 of cloud metadata'],
    ['64:ff9b::10.1.2.3', 'NAT64 of private'],
    ['64:ff9b::c0a8:1', 'NAT64 of private'],
    ['64:ff9b::0.0.0.0', 'NAT64 of this network'],
    ['64:ff9b:0:1::1', 'not global unicast'],
    ['64:ff9b:1::8.8.8.8', 'NAT64 for local use'],
    ['64:ff9b:1:ffff::1', 'NAT64 for local use'],
    ['100::1', 'discard only'],
    ['2001::1', 'Teredo'],
    ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'Teredo'],
    ['2001:0:7f00:1::', 'Teredo'],
    ['2001:2::1', 'protocol assignments'],
    ['2001:10::1', 'protocol assignments'],
    ['2001:20::1', 'protocol assignments'],
    ['2001:1ff:ffff::1', 'protocol assignments'],
    ['2001:db8::1', 'documentation'],
    ['2001:db8:ffff:ffff:ffff:ffff:ffff:ffff', 'documentation'],
    ['2002:7f00:1::', '6to4'],
    ['2002:a00:1::1', '6to4'],
    ['2002:a9fe:a9fe::', '6to4'],
    ['2002:808:808::1', '6to4'],
    ['3fff::1', 'documentation'],
    ['3fff:fff::1', 'documentation'],
    ['4000::1', 'not global unicast'],
    ['5f00::1', 'not global unicast'],
    ['fc00::1', 'unique-local'],
    ['fd00:ec2::254', 'cloud metadata (AWS)'],
    ['fd00:ec2:0:0:0:0:0:254', 'cloud metadata (AWS)'],
    ['fd00:ec2::253', 'unique-local'],
    ['fd20:ce::254', 'cloud metadata (Google)'],
    ['fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'unique-local'],
    ['fe80::1', 'link-local'],
    ['febf::1', 'link-local'],
    ['fec0::1', 'site-local'],
    ['feff::1', 'site-local'],
    ['ff02::1', 'multicast'],
    ['ff05::1:3', 'multicast'],
    ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'multicast'],
  ])('%s: %s', (address, range) => {
    expect(refusalOf(address)?.range).toBe(range);
  });
});

describe('what is no address', () => {
  it.each([
    '',
    'localhost',
    '127.1',
    '0x7f.0.0.1',
    '0177.0.0.1',
    '2130706433',
    '8.8.8.8:80',
    '8.8.8.8 ',
    '1.2.3.4.5',
    '256.1.1.1',
    '[2606:4700::1111]',
    'fe80::1%eth0',
    '2606:4700::1111%1',
    '2606:4700:::1111',
    '1::2::3',
    '::ffff:999.1.1.1',
  ])('%j is refused', (address) => {
    expect(refusalOf(address)).toEqual({ range: 'not an IP address', local: false });
  });
});

describe('ranges that allowPrivate may open', () => {
  it.each(['127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', '::1', 'fd12::1'])(
    '%s',
    (a) => {
      expect(refusalOf(a)?.local).toBe(true);
    },
  );

  it.each([
    '169.254.169.254',
    '169.254.0.1',
    '168.63.129.16',
    '100.100.100.200',
    'fd00:ec2::254',
    'fe80::1',
    '0.0.0.0',
    '::',
    '224.0.0.1',
    '64:ff9b::127.0.0.1',
    '::ffff:127.0.0.1',
  ])('not %s', (address) => {
    expect(refusalOf(address)?.local).toBe(false);
  });
});
