/** The identity endpoint, as App Service and Functions offer it beside an app. */

import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { managedIdentity } from '../../../functions/azure/identity.ts';
import { blobPayloads, tableStore } from '../../../functions/azure/index.ts';
import { accessFrom } from '../../../functions/azure/settings.ts';

let server: Server;
let url: string;
let asked: IncomingMessage[];
let answer: { status: number; body: string };

beforeEach(async () => {
  asked = [];
  answer = { status: 200, body: '{"access_token":"abc","expires_on":"1800000000","token_type":"Bearer"}' };
  server = createServer((request, response) => {
    asked.push(request);
    response.writeHead(answer.status, answer.status === 302 ? { location: 'http://127.0.0.1:1/' } : {});
    response.end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/msi/token`;
});
afterEach(() => {
  vi.unstubAllEnvs();
  server.closeAllConnections();
  server.close();
});

const identity = (clientId: string | null = null) =>
  managedIdentity({ IDENTITY_ENDPOINT: url, IDENTITY_HEADER: 'proof' }, clientId)!;
const scope = 'https://servicebus.azure.net//.default';

describe('a managed identity', () => {
  it('asks for a token of the resource, and says who it is', async () => {
    const token = await identity().getToken(scope);
    expect(token).toEqual({ token: 'abc', expiresOnTimestamp: 1_800_000_000_000 });
    const [{ url: path, headers } = {} as never] = asked;
    expect(headers['x-identity-header']).toBe('proof');
    expect(Object.fromEntries(new URL(path!, url).searchParams)).toEqual({
      'api-version': '2019-08-01',
      resource: 'https://servicebus.azure.net/',
    });
  });

  it('names an identity that was assigned by hand', async () => {
    await identity('id-1').getToken([scope]);
    expect(asked[0]!.url).toContain('client_id=id-1');
  });

  it.each([
    [400, '{"error":"secret proof"}', 'CONFIG', /refused with 400/],
    [500, 'oops', 'BACKEND', /failed with 500/],
    [302, '', 'BACKEND', /did not answer/],
    [200, '{}', 'BACKEND', /contains no token/],
    [200, '{"access_token":"abc","expires_on":"soon"}', 'BACKEND', /contains no token/],
  ])('tells what an answer of %i %s means, without repeating it', async (status, body, code, message) => {
    answer = { status, body };
    const error = await identity()
      .getToken(scope)
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) });
    expect(String(error)).not.toContain('proof');
  });

  it('is there where Azure has switched it on', () => {
    expect(managedIdentity({}, null)).toBeNull();
    expect(managedIdentity({ IDENTITY_ENDPOINT: url }, null)).toBeNull();
    expect(managedIdentity({ IDENTITY_HEADER: 'proof' }, null)).toBeNull();
    expect(identity()).not.toBeNull();
  });

  it('gets a function app in without a credential in its code', async () => {
    const env = {
      SB__fullyQualifiedNamespace: 'shop.servicebus.windows.net',
      SB__clientId: 'id-2',
      IDENTITY_ENDPOINT: url,
      IDENTITY_HEADER: 'proof',
    };
    const access = accessFrom('SB', undefined, env);
    expect(access).toMatchObject({ fullyQualifiedNamespace: 'shop.servicebus.windows.net' });
    if (!('credential' in access)) throw new Error('Expected a credential.');
    expect(await access.credential.getToken(scope)).toMatchObject({ token: 'abc' });
    expect(asked[0]!.url).toContain('client_id=id-2');
  });
});

describe('storage', () => {
  // Nobody listens there; the token is asked for first.
  const endpoint = 'https://127.0.0.1:1';
  it.each([
    ['a table', () => tableStore({ table: 'jobs', endpoint }).records.get('id')],
    ['blobs', () => blobPayloads({ container: 'claims', endpoint }).get('key', 1)],
  ])('of %s is reached with the identity of the app', async (_, use) => {
    vi.stubEnv('IDENTITY_ENDPOINT', url);
    vi.stubEnv('IDENTITY_HEADER', 'proof');
    await expect(use()).rejects.toMatchObject({
      code: 'BACKEND',
      message: expect.stringMatching(/ECONNREFUSED/),
    });
    const resources = asked.map((request) => new URL(request.url!, url).searchParams.get('resource'));
    expect(new Set(resources)).toEqual(new Set(['https://storage.azure.com']));
  });
});
