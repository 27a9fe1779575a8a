/** Clients that are slow, endless or many, on real sockets. */

import { describe, expect, it } from 'vitest';
import type { HttpServer } from '../../../local/serve.ts';
import { keys } from './kit.ts';
import { open, start } from './server-kit.ts';
import { dial, type Raw } from './sockets.ts';

async function dialled({ port }: HttpServer): Promise<Raw> {
  const raw = await dial(port);
  open.push({ close: () => raw.socket.destroy() });
  return raw;
}

const head = [
  'POST /jobs/invoice.send HTTP/1.1',
  'Host: localhost',
  `Authorization: Bearer ${keys.operator}`,
  'Content-Type: application/json',
].join('\r\n');

async function works({ url }: HttpServer): Promise<void> {
  const headers = { authorization: `Bearer ${keys.operator}`, 'content-type': 'application/json' };
  const answer = await fetch(`${url}/jobs/invoice.send`, {
    method: 'POST',
    headers,
    body: '{"invoiceId":"1"}',
  });
  expect(answer.status).toBe(202);
}

describe('a client that is slow', () => {
  it('with its headers is cut off after headersTimeoutMs, however often it sends a byte', async () => {
    const { server } = await start({ headersTimeoutMs: 200 });
    const raw = await dialled(server);
    const drip = setInterval(() => raw.write('x'), 20);
    raw.write('GET /healthz HTTP/1.1\r\nX-Slow: ');
    await works(server);
    const text = await raw.closed();
    clearInterval(drip);
    expect(text).toMatch(
      /^HTTP\/1\.1 408 Request Timeout\r\n[\s\S]*application\/problem\+json[\s\S]*"status":408/,
    );
  });

  it('with its body is cut off after requestTimeoutMs, and nothing is stored', async () => {
    const { server, client } = await start({ headersTimeoutMs: 200, requestTimeoutMs: 300 });
    const raw = await dialled(server);
    raw.write(`${head}\r\nContent-Length: 100000\r\n\r\n{"invoiceId":"`);
    const drip = setInterval(() => raw.write('x'), 20);
    const text = await raw.closed();
    clearInterval(drip);
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect((await client.stores.records.page({})).records).toEqual([]);
    await works(server);
  });

  it('and says nothing at all is cut off too', async () => {
    const { server } = await start({ headersTimeoutMs: 200 });
    await (await dialled(server)).closed();
  });

  it('between two requests is cut off after keepAliveTimeoutMs', async () => {
    const { server } = await start({ keepAliveTimeoutMs: 100 });
    const raw = await dialled(server);
    raw.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
    expect(await raw.closed()).toMatch(/^HTTP\/1\.1 200/);
  });
});

describe('a client that sends too much', () => {
  it('as one header gets 431', async () => {
    const { server } = await start({ maxHeaderBytes: 4_096 });
    const raw = await dialled(server);
    raw.write(`${head}\r\nX-Large: ${'x'.repeat(8_192)}\r\n\r\n`);
    expect(await raw.closed()).toMatch(/^HTTP\/1\.1 431 [\s\S]*Put data into the body/);
    await works(server);
  });

  it('as many headers gets 431', async () => {
    const { server } = await start();
    const raw = await dialled(server);
    raw.write(head);
    for (let i = 0; i < 2_000; i++) raw.write(`\r\nX-Header-${i}: 0123456789`);
    raw.write('\r\n\r\n');
    expect(await raw.closed()).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('as one endless header line gets 431', async () => {
    const { server } = await start();
    const raw = await dialled(server);
    raw.write('GET /healthz HTTP/1.1\r\nX-Endless: ');
    const pour = setInterval(() => raw.text() === '' && raw.write('x'.repeat(4_096)), 1);
    expect(await raw.closed()).toMatch(/^HTTP\/1\.1 431 /);
    clearInterval(pour);
    await works(server);
  });

  it('as an endless body gets 413, and no more than the cap is read from it', async () => {
    const { server, client } = await start({}, { maxBodyBytes: 100_000 });
    const raw = await dialled(server);
    raw.write(`${head}\r\nTransfer-Encoding: chunked\r\n\r\n`);
    const chunk = `4000\r\n${'x'.repeat(0x4000)}\r\n`;
    const pour = setInterval(() => raw.text() === '' && raw.write(chunk), 1);
    const text = await raw.closed();
    clearInterval(pour);
    expect(text).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close[\s\S]*"code":"LIMIT"/i);
    expect((await client.stores.records.page({})).records).toEqual([]);
    await works(server);
  });

  it('by its own claim gets 413 before it has sent a byte', async () => {
    const { server } = await start();
    const raw = await dialled(server);
    raw.write(`${head}\r\nContent-Length: 1000000000\r\n\r\n`);
    expect(await raw.closed()).toMatch(/^HTTP\/1\.1 413 [\s\S]*connection: close/i);
  });

  it('without a credential is answered without reading its body', async () => {
    const { server } = await start();
    const raw = await dialled(server);
    raw.write('POST /jobs/invoice.send HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n');
    expect(await raw.closed()).toMatch(/^HTTP\/1\.1 401 [\s\S]*connection: close/i);
  });
});

describe('a client that speaks something else', () => {
  it.each([
    ['no HTTP', 'hello\r\n\r\n'],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['an unknown method', 'SELL /jobs HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n'],
    ['a header with a space', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nBad Header: 1\r\n\r\n'],
    ['two lengths', `${head}\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}`],
    ['a length and chunks', `${head}\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunks of no size', `${head}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`],
    ['a chunked coding that is not last', `${head}\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n`],
    ['HTTP/2 without asking', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ])('(%s) gets 400 and is cut off', async (_, text) => {
    const { server, client } = await start({ headersTimeoutMs: 1_000, requestTimeoutMs: 1_500 });
    const raw = await dialled(server);
    raw.write(text);
    expect(await raw.closed()).toMatch(/^HTTP\/1\.1 400 /);
    expect((await client.stores.records.page({})).records).toEqual([]);
    await works(server);
  });

  it.each([
    ['another host in the target', 'GET http://attacker.example/openapi.json HTTP/1.1\r\nHost: localhost'],
    ['another host in the header', 'GET /openapi.json HTTP/1.1\r\nHost: attacker.example'],
    ['a host that is none', 'GET /openapi.json HTTP/1.1\r\nHost: a b'],
  ])('(%s) is not served in development', async (_, text) => {
    const token = 'development.0123456789abcdef01234';
    const { server } = await start({}, { development: true, testing: { newToken: () => token } });
    const raw = await dialled(server);
    raw.write(`${text}\r\nAuthorization: Bearer ${token}\r\nConnection: close\r\n\r\n`);
    expect(await raw.closed()).toMatch(/^HTTP\/1\.1 40[03] /);
  });
});

describe('many clients', () => {
  it('1,000 idle connections do not keep a request from being answered, and are cut off in the end', async () => {
    const { server } = await start({ headersTimeoutMs: 2_000, maxConnections: 1_100 });
    const idle = await Promise.all(Array.from({ length: 1_000 }, () => dialled(server)));
    for (const raw of idle.slice(0, 500)) raw.write('GET /healthz HTTP/1.1\r\nX-');
    await works(server);
    await Promise.all(idle.map((raw) => raw.closed()));
    await works(server);
  });

  it('are refused beyond maxConnections, and served when others have gone', async () => {
    const { server } = await start({ maxConnections: 5, headersTimeoutMs: 500 });
    const idle = await Promise.all(Array.from({ length: 5 }, () => dialled(server)));
    expect(await (await dialled(server)).closed()).toBe('');
    await Promise.all(idle.map((raw) => raw.closed()));
    await works(server);
  });
});
