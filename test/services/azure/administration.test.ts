/**
 * The tier of a namespace and how its queues were made, asked with the real SDK. The answers are those that Azure documents,
 * from a server of this file: no emulator has tiers.
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DiagnosisRequest } from '../../../core/contract/diagnosis.ts';
import { openAdministration, type Prepare } from '../../../functions/azure/service-bus/administration.ts';
import {
  adviceFor,
  adviceOf,
  checkQueues,
  serviceBusDiagnosis,
  type Use,
} from '../../../functions/azure/service-bus/check.ts';
import { createConnection } from '../../../functions/azure/service-bus/connection.ts';
import { openServiceBusBackend } from '../../../functions/azure/service-bus/index.ts';
import { startServiceBus } from '../../../local/simulate/service-bus/server.ts';
import { lookedAt, request } from '../diagnoses.ts';

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
const needs = { maxRetries: 3, timeoutMs: 60_000 };
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
    expect(await (await open()).queue('mail')).toBeNull();
  });

  it('of an emulator has no tier', async () => {
    const emulator = `${connectionString};UseDevelopmentEmulator=true;`;
    expect(await openAdministration({ connectionString: emulator })).toBeNull();
  });
});

describe('a queue', () => {
  const adviceFor = async (name: string, properties: Record<string, string>, use: Partial<Use> = {}) => {
    answers[name] = queueOf(properties);
    const settings = await (await open()).queue(name);
    return adviceOf(settings!, {
      name,
      entity: name,
      keeps: 'jobs',
      sessions: false,
      needs: { maxRetries: 3, timeoutMs: 60_000 },
      ...use,
    });
  };

  it('that is as the docs make it is told nothing', async () => {
    expect(await adviceFor('mail', {})).toEqual([]);
    const letters = { MaxDeliveryCount: '2000' };
    expect(await adviceFor('mail-failed', letters, { keeps: 'dead letters', needs: null })).toEqual([]);
  });

  it.each([
    [{ DuplicateDetectionHistoryTimeWindow: 'PT9M59.5S' }, /^Queue "mail" remembers ids for 599.5 s/],
    [{ LockDuration: 'PT5S' }, /^Queue "mail" locks a message for 5 s/],
    [{ MaxDeliveryCount: '3' }, /dead-letters a message after 3 deliveries, and its jobs have 4 attempts/],
    [{ DeadLetteringOnMessageExpiration: 'false' }, /silently deletes jobs that are older than 1209600 s/],
    [{ AutoDeleteOnIdle: 'PT1H' }, /is deleted when it is unused for 3600 s, with the jobs in it/],
  ])('with %o is told so', async (properties, text) => {
    const advice = await adviceFor('mail', properties as Record<string, string>);
    expect(advice).toEqual([expect.stringMatching(text)]);
  });

  it('whose messages never expire needs no dead letters for that', async () => {
    const never = 'P10675199DT2H48M5.4775807S';
    const properties = { DefaultMessageTimeToLive: never, DeadLetteringOnMessageExpiration: 'false' };
    expect(await adviceFor('mail', properties)).toEqual([]);
  });

  it('of dead letters is told when retries use its deliveries up', async () => {
    const advice = await adviceFor('mail-failed', {}, { keeps: 'dead letters', needs: null });
    expect(advice).toEqual([expect.stringMatching(/moves a dead letter .* after 10 deliveries.*2000/)]);
  });

  it.each([
    [
      { RequiresDuplicateDetection: 'false' },
      /queue "mail" to detect duplicates.*recreate it with --enable-dup/,
    ],
    [
      { RequiresSession: 'true' },
      /"mail" requires sessions.*Name "mail" in sessions, or recreate it without --enable-session/,
    ],
  ])('with %o is refused', async (properties, message) => {
    await expect(adviceFor('mail', {})).resolves.toEqual([]);
    const refused = { code: 'CONFIG', message };
    await expect(adviceFor('mail', properties as Record<string, string>)).rejects.toMatchObject(refused);
  });

  it('named in sessions has to require them', async () => {
    expect(await adviceFor('mail', { RequiresSession: 'true' }, { sessions: true })).toEqual([]);
    await expect(adviceFor('mail', {}, { sessions: true })).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringMatching(
        /queue "mail" to require sessions.*recreate it with --enable-session true, or leave it out/,
      ),
    });
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
    const expected = { code: 'CONFIG', message: expect.stringMatching(/got Basic/) };
    await expect(backend.enqueue([message])).rejects.toMatchObject(expected);
    const fetched = backend.fetch({ queues: ['mail'], max: 1, leaseMs: 30_000, waitMs: 0 });
    await expect(fetched).rejects.toMatchObject(expected);
    await expect(backend.check()).rejects.toMatchObject(expected);
    expect(asked).toEqual(['$namespaceinfo', '$namespaceinfo', '$namespaceinfo']);
    await backend.close();
  });

  it('says how its queues are set up, and which it could not look at', async () => {
    const bus = await startServiceBus();
    for (const name of ['mail', 'mail-failed']) bus.createQueue(name);
    // The queues are those of the emulator, their settings those of a namespace.
    const connection = createConnection({ queues: ['mail'], maxRetries: 0 }, () => bus);
    const told = { ...connection, administration: open };
    answers['mail-failed'] = queueOf({ MaxDeliveryCount: '2000' });
    expect(await adviceFor(told, () => needs)).toEqual([]);
    expect(await adviceFor(told, () => ({ ...needs, maxRetries: 20 }))).toEqual([]);
    // As `check()` of the backend asks, which knows no jobs.
    expect(await checkQueues(told, ['mail'])).toEqual({ tier: 'Standard', unknown: [], advice: [] });
    answers.mail = queueOf({ MaxDeliveryCount: '5' });
    const few = expect.stringContaining('"mail" dead-letters a message after 5 deliveries');
    expect(await adviceFor(told, () => ({ ...needs, maxRetries: 20 }))).toEqual([few]);
    answers = { $namespaceinfo: forbidden, mail: forbidden, 'mail-failed': forbidden };
    const unknown = expect.stringMatching(
      /^The settings of mail, mail-failed were not looked at.*Data Owner/,
    );
    expect(await adviceFor(told, () => needs)).toEqual([unknown]);
    await connection.close();
    await bus.stop();
  });

  describe('asked by the doctor', () => {
    async function diagnosed(queues: Record<string, Answer>, missing: readonly string[] = []) {
      answers = { ...answers, 'mail-failed': queueOf({ MaxDeliveryCount: '2000' }), ...queues };
      const bus = await startServiceBus();
      for (const name of ['mail', 'mail-failed'].filter((one) => !missing.includes(one)))
        bus.createQueue(name);
      const connection = createConnection({ queues: ['mail'], maxRetries: 0 }, () => bus);
      const diagnose = async (request: DiagnosisRequest) =>
        serviceBusDiagnosis({ ...connection, administration: open }, request);
      const looked = await lookedAt({ diagnose }, request({ needs }));
      await connection.close();
      await bus.stop();
      return looked;
    }

    it('finds nothing in queues that are right, and every check is made', async () => {
      expect(await diagnosed({})).toEqual({ found: {}, notChecked: {} });
    });

    it.each([
      ['servicebus.window', 'warning', { DuplicateDetectionHistoryTimeWindow: 'PT1M' }],
      ['servicebus.lock', 'warning', { LockDuration: 'PT5S' }],
      ['servicebus.deliveries', 'warning', { MaxDeliveryCount: '3' }],
      ['servicebus.expiry', 'warning', { DeadLetteringOnMessageExpiration: 'false' }],
      ['servicebus.idle', 'warning', { AutoDeleteOnIdle: 'PT1H' }],
      ['servicebus.sessions', 'error', { RequiresSession: 'true' }],
      ['servicebus.duplicates', 'error', { RequiresDuplicateDetection: 'false' }],
    ])('finds %s, %s, where a queue has %o', async (id, severity, properties) => {
      const { found } = await diagnosed({ mail: queueOf(properties as unknown as Record<string, string>) });
      expect(found).toEqual({ [id]: [expect.objectContaining({ where: 'queue "mail"', severity })] });
    });

    it('finds a queue that is not there', async () => {
      const { found } = await diagnosed({}, ['mail-failed']);
      expect(found).toEqual({
        'servicebus.queues': [expect.objectContaining({ where: 'queue "mail-failed"', severity: 'error' })],
      });
    });

    it('finds an identity that may not manage, and says what is not checked for that', async () => {
      const { found, notChecked } = await diagnosed({
        $namespaceinfo: forbidden,
        mail: forbidden,
        'mail-failed': forbidden,
      });
      expect(Object.keys(found)).toEqual(['servicebus.rights']);
      expect(Object.keys(notChecked)).toHaveLength(8);
      expect(notChecked['servicebus.lock']).toMatch(/that takes the role Azure Service Bus Data Owner/);
    });

    it('of the Basic tier fails with what it lacks', async () => {
      await expect(diagnosed({ $namespaceinfo: namespaceOf('Basic') })).rejects.toThrow(/got Basic/);
    });

    it('on an emulator says that nobody can be asked for settings', async () => {
      const bus = await startServiceBus();
      for (const name of ['mail', 'mail-failed']) bus.createQueue(name);
      const backend = openServiceBusBackend({ queues: ['mail'], maxRetries: 0 }, () => bus);
      const { found, notChecked } = await lookedAt(backend.admin!);
      expect(found).toEqual({});
      expect(new Set(Object.values(notChecked))).toEqual(new Set(['an emulator has no administration']));
      await backend.close();
      await bus.stop();
    });
  });

  it('says of which queues it knows nothing, as on an emulator', async () => {
    const bus = await startServiceBus();
    for (const name of ['mail', 'mail-failed']) bus.createQueue(name);
    const backend = openServiceBusBackend({ queues: ['mail'], maxRetries: 0 }, () => bus);
    expect(await backend.check()).toEqual({
      tier: null,
      unknown: ['mail', 'mail-failed'],
      advice: [],
    });
    expect(await backend.admin!.check!(() => needs)).toEqual([]);
    await backend.close();
    await bus.stop();
  });
});
