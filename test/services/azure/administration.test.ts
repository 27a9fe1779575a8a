/**
 * The tier of a namespace and how its queues were made, asked with the real SDK. The answers are those that Azure documents,
 * from a server of this file: no emulator has tiers.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openAdministration, type Prepare } from '../../../functions/azure/service-bus/administration.ts';
import { openServiceBusBackend } from '../../../functions/azure/service-bus/index.ts';
import { startServiceBus } from '../../../local/simulate/service-bus/server.ts';

const connectionString = `Endpoint=sb://shop.servicebus.windows.net;SharedAccessKeyName=root;SharedAccessKey=${Buffer.alloc(32).toString('base64')}`;

interface Answer {
  readonly status: number;
  readonly body: string;
}
let server: Server;
let asked: string[];
let answers: Record<string, Answer>;
let prepare: Prepare;

const entry = (kind: string, properties: Record<string, string>): Answer => {
  const inner = Object.entries(properties).map(([name, value]) => `<${name}>${value}</${name}>`);
  const described = `<${kind} xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">${inner.join('')}</${kind}>`;
  const body = `<entry xmlns="http://www.w3.org/2005/Atom"><id>https://shop.servicebus.windows.net/$namespaceinfo</id><title type="text">shop</title><content type="application/xml">${described}</content></entry>`;
  return { status: 200, body };
};
const created = { CreatedTime: '2026-01-01T00:00:00Z', ModifiedTime: '2026-01-01T00:00:00Z' };
const namespaceOf = (tier: string) =>
  entry('NamespaceInfo', { ...created, MessagingSKU: tier, Name: 'shop', MessagingUnits: '1' });
const queueOf = (properties: Record<string, string> = {}) =>
  entry('QueueDescription', {
    LockDuration: 'PT1M',
    MaxSizeInMegabytes: '1024',
    RequiresDuplicateDetection: 'true',
    RequiresSession: 'false',
    DefaultMessageTimeToLive: 'P14D',
    DeadLetteringOnMessageExpiration: 'true',
    DuplicateDetectionHistoryTimeWindow: 'PT1H',
    MaxDeliveryCount: '10',
    EnableBatchedOperations: 'true',
    Status: 'Active',
    AutoDeleteOnIdle: 'P10675199DT2H48M5.4775807S',
    EnablePartitioning: 'false',
    EnableExpress: 'false',
    EntityAvailabilityStatus: 'Available',
    ...properties,
  });
const forbidden: Answer = {
  status: 401,
  body: '<Error><Code>401</Code><Detail>Manage,EntityRead claims required for this operation.</Detail></Error>',
};

beforeEach(async () => {
  asked = [];
  answers = { $namespaceinfo: namespaceOf('Standard'), mail: queueOf(), 'mail-failed': queueOf() };
  server = createServer((request, response) => {
    const path = new URL(request.url!, 'http://localhost').pathname.slice(1);
    asked.push(path);
    const { status, body } = answers[path] ?? { status: 404, body: '<Error><Code>404</Code></Error>' };
    response.writeHead(status, { 'content-type': 'application/atom+xml' }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const here = {
    name: 'here',
    sendRequest: (
      request: { url: string; allowInsecureConnection?: boolean },
      next: (one: never) => never,
    ) => {
      const url = new URL(request.url);
      request.url = `http://127.0.0.1:${port}${url.pathname}${url.search}`;
      request.allowInsecureConnection = true;
      return next(request as never);
    },
  };
  prepare = (client) => client.pipeline.addPolicy(here as never);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const open = async () => (await openAdministration({ connectionString }, prepare))!;

describe('a namespace', () => {
  it('of the Basic tier is refused, with what it lacks and what to do', async () => {
    answers.$namespaceinfo = namespaceOf('Basic');
    await expect((await open()).tier()).rejects.toMatchObject({
      code: 'CONFIG',
      message:
        /"shop" to be of the Standard or Premium tier, got Basic: it detects no duplicates.*--sku Standard/,
    });
  });

  it.each(['Standard', 'Premium'])('of the %s tier is taken', async (tier) => {
    answers.$namespaceinfo = namespaceOf(tier);
    expect(await (await open()).tier()).toBe(tier);
  });

  it('that may not be asked is taken, and said not to be known', async () => {
    answers = { $namespaceinfo: forbidden, mail: forbidden };
    expect(await (await open()).tier()).toBeNull();
    expect(await (await open()).queue('mail')).toBe(false);
  });

  it('of an emulator has no tier', async () => {
    const emulator = `${connectionString};UseDevelopmentEmulator=true;`;
    expect(await openAdministration({ connectionString: emulator })).toBeNull();
  });
});

describe('a queue', () => {
  it('that detects duplicates is taken', async () => {
    expect(await (await open()).queue('mail')).toBe(true);
  });

  it.each([
    [
      { RequiresDuplicateDetection: 'false' },
      /queue "mail" to detect duplicates.*make it anew with --enable-dup/,
    ],
    [{ RequiresSession: 'true' }, /"mail" requires sessions.*anew without --enable-session/],
  ])('with %o is refused', async (properties, message) => {
    answers.mail = queueOf(properties as Record<string, string>);
    await expect((await open()).queue('mail')).rejects.toMatchObject({ code: 'CONFIG', message });
  });
});

describe('serviceBus()', () => {
  const backendFor = () =>
    openServiceBusBackend({ queues: ['mail'], maxRetries: 0 }, () => ({ connectionString }), prepare);

  it('sends nothing to a Basic namespace, takes nothing from it, and asks again the next time', async () => {
    answers.$namespaceinfo = namespaceOf('Basic');
    const backend = backendFor();
    const message = {
      id: 'a',
      queue: 'mail',
      job: 'j',
      tenantId: null,
      body: '{}',
      priority: 5,
      notBefore: null,
      group: null,
    };
    const expected = { code: 'CONFIG', message: /got Basic/ };
    await expect(backend.enqueue([message])).rejects.toMatchObject(expected);
    const fetched = backend.fetch({ queues: ['mail'], max: 1, leaseMs: 30_000, waitMs: 0 });
    await expect(fetched).rejects.toMatchObject(expected);
    await expect(backend.check()).rejects.toMatchObject(expected);
    expect(asked).toEqual(['$namespaceinfo', '$namespaceinfo', '$namespaceinfo']);
    await backend.close();
  });

  it('says of which queues it knows nothing, as on an emulator', async () => {
    const bus = await startServiceBus();
    for (const name of ['mail', 'mail-failed']) bus.createQueue(name);
    const backend = openServiceBusBackend({ queues: ['mail'], maxRetries: 0 }, () => bus);
    expect(await backend.check()).toEqual({ tier: null, unknown: ['mail', 'mail-failed'] });
    await backend.close();
    await bus.stop();
  });
});
