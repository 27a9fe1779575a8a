import { describe, expect, it } from 'vitest';
import {
  addressesOf,
  parseTarget,
  refuseTarget,
  shownUrl,
  targetPolicy,
} from '../../../core/jobs/targets.ts';
import { scriptedLookup } from './kit.ts';

const anywhere = targetPolicy(undefined, undefined);
const target = (text: string): URL => {
  const url = parseTarget(text);
  if (typeof url === 'string') throw new Error(url);
  return url;
};

describe('an address written in another way', () => {
  it.each([
    ['http://2130706433/', '127.0.0.1'],
    ['http://0x7f000001/', '127.0.0.1'],
    ['http://0X7F.1/', '127.0.0.1'],
    ['http://017700000001/', '127.0.0.1'],
    ['http://0177.0.0.01/', '127.0.0.1'],
    ['http://127.1/', '127.0.0.1'],
    ['http://127.0.1/', '127.0.0.1'],
    ['http://127.0.0.1./', '127.0.0.1'],
    ['http://0/', '0.0.0.0'],
    ['http://0x0/', '0.0.0.0'],
    ['http://2852039166/', '169.254.169.254'],
    ['http://0xa9fea9fe/', '169.254.169.254'],
    ['http://169.0376.0251.254/', '169.254.169.254'],
    ['http://%31%32%37.0.0.1/', '127.0.0.1'],
    ['http://１２７.０.０.１/', '127.0.0.1'],
    ['http://①②⑦.⓪.⓪.①/', '127.0.0.1'],
    ['http://127。0。0。1/', '127.0.0.1'],
    ['http:\\\\127.0.0.1\\', '127.0.0.1'],
    ['http:127.0.0.1', '127.0.0.1'],
    ['http:///127.0.0.1/', '127.0.0.1'],
    ['http://[::1]/', '[::1]'],
    ['http://[0:0:0:0:0:0:0:1]/', '[::1]'],
    ['http://[::ffff:127.0.0.1]/', '[::ffff:7f00:1]'],
    ['http://[::127.0.0.1]/', '[::7f00:1]'],
    ['http://[64:ff9b::127.0.0.1]/', '[64:ff9b::7f00:1]'],
  ])('%s is %s and refused', (text, hostname) => {
    const url = target(text);
    expect(url.hostname).toBe(hostname);
    expect(refuseTarget(url, anywhere)).toMatch(/and only public ones are called/);
  });
});

describe('allowHosts', () => {
  const policy = targetPolicy(['api.example.com', '*.hooks.example.org', '93.184.216.34'], undefined);

  it.each([
    'https://api.example.com/x',
    'https://API.EXAMPLE.COM/',
    'https://api.example.com./',
    'http://api.example.com:8080/',
    'https://a.hooks.example.org/',
    'https://a.b.hooks.example.org/',
    'https://93.184.216.34/',
    'https://1572395042/',
  ])('lets %s through', (text) => {
    expect(refuseTarget(target(text), policy)).toBeNull();
  });

  it.each([
    'https://example.com/',
    'https://xapi.example.com/',
    'https://api.example.com.evil.test/',
    'https://evil.test/@api.example.com',
    'https://hooks.example.org/',
    'https://evilhooks.example.org/',
    'https://hooks.example.org.evil.test/',
    'https://93.184.216.35/',
    'https://evil.test/?api.example.com',
    'https://evil.test/#api.example.com',
    'https://evil.test\\.api.example.com/',
  ])('stops %s', (text) => {
    expect(refuseTarget(target(text), policy)).toMatch(/is not in allowHosts$/);
  });

  it('does not open private addresses', async () => {
    const { lookup } = scriptedLookup({ 'api.example.com': [['10.0.0.1']] });
    const found = await addressesOf(target('https://api.example.com/'), policy, lookup);
    expect(found).toBe(
      'host "api.example.com" has the address "10.0.0.1" (private), and only public ones are called',
    );
    expect(refuseTarget(target('http://10.0.0.1/'), targetPolicy(['10.0.0.1'], undefined))).toMatch(
      /private/,
    );
  });

  it('that is empty stops everything', () => {
    expect(refuseTarget(target('https://example.com/'), targetPolicy([], undefined))).toMatch(
      /not in allowHosts/,
    );
  });
});

describe('all addresses of a host', () => {
  const resolve = (addresses: readonly string[], allowPrivate?: readonly string[], text = 'http://a.test/') =>
    addressesOf(
      target(text),
      targetPolicy(undefined, allowPrivate),
      scriptedLookup({ 'a.test': [addresses] }).lookup,
    );

  it('are handed on when all are public', async () => {
    expect(await resolve(['93.184.216.34', '2606:4700::1111'])).toEqual([
      { address: '93.184.216.34', family: 4 },
      { address: '2606:4700::1111', family: 6 },
    ]);
  });

  it.each([
    [['10.0.0.1']],
    [['93.184.216.34', '10.0.0.1']],
    [['127.0.0.1', '93.184.216.34']],
    [['93.184.216.34', '2606:4700::1111', '::1']],
    [['93.184.216.34', '169.254.169.254', '93.184.216.35']],
    [['93.184.216.34', 'not-an-address']],
    [['fe80::1%eth0']],
  ])('are refused together: %j', async (addresses) => {
    expect(await resolve(addresses)).toMatch(/and only public ones are called$/);
  });

  it('may be local where allowPrivate names host and port', async () => {
    expect(await resolve(['127.0.0.1', '::1'], ['a.test:80'])).toHaveLength(2);
    expect(await resolve(['127.0.0.1'], ['a.test:81'])).toMatch(/loopback/);
    expect(await resolve(['127.0.0.1'], ['a.test:443'])).toMatch(/loopback/);
    expect(await resolve(['127.0.0.1'], ['127.0.0.1:80'])).toMatch(/loopback/);
    expect(await resolve(['127.0.0.1'], ['a.test:443'], 'https://a.test/')).toHaveLength(1);
  });

  it.each(['169.254.169.254', '168.63.129.16', 'fd00:ec2::254', '100.100.100.200', '0.0.0.0', 'fe80::1'])(
    'are never %s, allowPrivate or not',
    async (address) => {
      expect(await resolve([address], ['a.test:80'])).toMatch(/and only public ones are called$/);
    },
  );

  it('are those of the text, whatever family the lookup names', async () => {
    const lookup = async () => [{ address: '93.184.216.34', family: 6 }];
    expect(await addressesOf(target('http://a.test/'), anywhere, lookup)).toEqual([
      { address: '93.184.216.34', family: 4 },
    ]);
  });

  it('of a literal are not looked up', async () => {
    const lookup = () => Promise.reject(new Error('asked'));
    expect(await addressesOf(target('http://[2606:4700::1111]:81/'), anywhere, lookup)).toEqual([
      { address: '2606:4700::1111', family: 6 },
    ]);
  });
});

describe('a URL in a message', () => {
  it.each([
    ['https://h.test/a/b?token=secret#frag', 'https://h.test/a/b'],
    ['https://h.test:8443', 'https://h.test:8443/'],
    [`https://h.test/${'x'.repeat(300)}`, `https://h.test/${'x'.repeat(182)}...`],
  ])('%s is shown as %s', (text, shown) => {
    expect(shownUrl(target(text))).toBe(shown);
  });
});
