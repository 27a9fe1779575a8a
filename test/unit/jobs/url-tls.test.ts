/** The name stays the name: for SNI, for the certificate and for the Host header, while the address is the checked one. */

import { createServer } from 'node:https';
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { urlJob } from '../../../core/jobs/url.ts';
import { selfSigned } from './certificate.ts';
import { listening, recording, runOnce, type Seen, scriptedLookup } from './kit.ts';

const trusted = selfSigned('hook.test');
const before = getCACertificates('default');
beforeAll(() => setDefaultCACertificates([...before, trusted.cert]));
afterAll(() => setDefaultCACertificates(before));

const names = { 'hook.test': [['127.0.0.1']], 'other.test': [['127.0.0.1']] };

async function secureServer(pair = trusted, location = (_port: number): string | null => null) {
  const seen: Seen[] = [];
  const servernames: unknown[] = [];
  const server = createServer(
    pair,
    recording(seen, (request, response) => {
      servernames.push((request.socket as TLSSocket).servername);
      const next = request.url === '/in' ? location(port) : null;
      if (next === null) response.end();
      else response.writeHead(302, { location: next }).end();
    }),
  );
  server.on('tlsClientError', () => {});
  const { port } = await listening(server);
  const allowPrivate = [`hook.test:${port}`, `other.test:${port}`];
  return {
    port,
    seen,
    servernames,
    job: urlJob({ testing: { lookup: scriptedLookup(names).lookup }, allowPrivate }),
  };
}

describe('https', () => {
  it('connects to the checked address under the name', async () => {
    const { job, port, seen, servernames } = await secureServer();
    const result = await runOnce(job, { url: `https://hook.test:${port}/in`, body: { a: 1 } });
    expect(result).toMatchObject({ outcome: 'acked', output: { status: 200 } });
    expect(servernames).toEqual(['hook.test']);
    expect(seen[0]).toMatchObject({
      method: 'POST',
      body: '{"a":1}',
      headers: { host: `hook.test:${port}` },
    });
  });

  it('does not accept a certificate of another name', async () => {
    const { job, port, seen } = await secureServer();
    const result = await runOnce(job, { url: `https://other.test:${port}/in` });
    expect(result).toMatchObject({ outcome: 'requeued' });
    expect(result.error?.message).toBe(
      `GET https://other.test:${port}/in failed: ERR_TLS_CERT_ALTNAME_INVALID.`,
    );
    expect(seen).toEqual([]);
  });

  it('does not accept a certificate of nobody, whatever NODE_TLS_REJECT_UNAUTHORIZED says', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    const { job, port, seen } = await secureServer(selfSigned('hook.test'));
    const result = await runOnce(job, { url: `https://hook.test:${port}/in` });
    vi.unstubAllEnvs();
    expect(result.error?.message).toMatch(
      /failed: (?:DEPTH_ZERO_SELF_SIGNED_CERT|CERT_SIGNATURE_FAILURE)\.$/,
    );
    expect(seen).toEqual([]);
  });

  it('follows a redirect to itself, and none to http', async () => {
    const same = await secureServer(trusted, (port) => `https://hook.test:${port}/next`);
    expect(await runOnce(same.job, { url: `https://hook.test:${same.port}/in` })).toMatchObject({
      outcome: 'acked',
    });
    expect(same.seen.map(({ url }) => url)).toEqual(['/in', '/next']);
    const down = await secureServer(trusted, (port) => `http://hook.test:${port}/next`);
    const result = await runOnce(down.job, { url: `https://hook.test:${down.port}/in` });
    expect(result).toMatchObject({ outcome: 'dead-lettered', reason: 'permanent' });
    expect(result.error?.message).toMatch(/answered 302 from https to http, which is not followed\.$/);
    expect(down.seen).toHaveLength(1);
  });
});
