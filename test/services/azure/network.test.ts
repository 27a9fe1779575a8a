/** A network that goes silent: packets are lost, and nobody closes a connection. */

import { createServer, connect as openSocket, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ServiceBusBackend,
  type ServiceBusOptions,
  serviceBus,
} from '../../../functions/azure/index.ts';
import { type ServiceBusServer, startServiceBus } from '../../../local/simulate/service-bus/server.ts';

let server: ServiceBusServer;
let network: Awaited<ReturnType<typeof startNetwork>>;
let backend: ServiceBusBackend;

beforeEach(async () => {
  server = await startServiceBus();
  for (const name of ['mail', 'mail-failed']) server.createQueue(name, { duplicateWindowMs: 600_000 });
  network = await startNetwork(server.port);
});
afterEach(async () => {
  network.stop();
  await backend.close();
  await server.stop();
});

async function startNetwork(to: number) {
  const connections = new Set<{ silent: boolean; readonly ends: readonly Socket[] }>();
  let silent = false;
  const proxy: Server = createServer((near) => {
    const far = openSocket(to, '127.0.0.1');
    const connection = { silent, ends: [near, far] };
    connections.add(connection);
    for (const [from, other] of [[near, far] as const, [far, near] as const]) {
      from.on('data', (bytes) => void (connection.silent || other.write(bytes)));
      from.on('error', () => {}).on('close', () => connection.silent || other.destroy());
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    port: (proxy.address() as { port: number }).port,
    /** @param whole new connections too */
    fallSilent({ whole }: { whole: boolean }): void {
      silent = whole;
      for (const connection of connections) connection.silent = true;
    },
    stop(): void {
      proxy.close();
      for (const { ends } of connections) for (const end of ends) end.destroy();
    },
  };
}

function open(options: Partial<ServiceBusOptions>): void {
  const connectionString = server.connectionString.replace(`:${server.port};`, `:${network.port};`);
  backend = serviceBus({
    connectionString,
    queues: ['mail'],
    timeoutMs: 1_000,
    longPollMs: 1_000,
    ...options,
  });
}

const message = (id: string) => ({
  id,
  queue: 'mail',
  job: 'mail.send',
  body: '{}',
  priority: 5,
  notBefore: null,
  group: null,
  tenantId: null,
});
const fetch = (waitMs = 0) => backend.fetch({ queues: ['mail'], max: 1, leaseMs: 60_000, waitMs });

describe('serviceBus() on a network that goes silent', () => {
  it('sends, receives and settles over another connection', async () => {
    open({ maxRetries: 1 });
    await backend.enqueue([message('a')]);
    const [lease] = await fetch();
    network.fallSilent({ whole: false });
    expect(await backend.enqueue([message('b')])).toMatchObject([{ ok: true }]);
    network.fallSilent({ whole: false });
    expect(await backend.ack([{ lease: lease! }])).toEqual([true]);
    network.fallSilent({ whole: false });
    await expect(fetch(), 'a receive call is not repeated').rejects.toMatchObject({ code: 'BACKEND' });
    expect(await fetch()).toHaveLength(1);
    network.fallSilent({ whole: false });
    expect(await backend.admin!.stats()).toMatchObject([{ queue: 'mail' }]);
  });

  it.each<[string, (lease: Awaited<ReturnType<typeof fetch>>[number]) => Promise<unknown>]>([
    ['send', () => backend.enqueue([message('b')])],
    ['look', () => fetch()],
    ['wait for messages', () => fetch(10_000)],
    ['ack', (lease) => backend.ack([{ lease }])],
    ['nack', (lease) => backend.nack(lease, { delayMs: 0, countAttempt: true })],
    ['abandon', (lease) => backend.abandon(lease, { reason: 'permanent', error: '' })],
    ['renew', (lease) => backend.renew([lease], 60_000)],
    ['list', () => backend.admin!.deadLetters.list({})],
    ['check', () => backend.check()],
  ])('does not wait for an answer for ever: %s', { timeout: 60_000 }, async (_, call) => {
    open({ maxRetries: 0 });
    await backend.enqueue([message('a')]);
    const [lease] = await fetch();
    network.fallSilent({ whole: true });
    // The SDK itself would take one minute or more.
    const ended = call(lease!).then(
      (answer) => answer,
      ({ code }: { code: string }) => code,
    );
    const answer = await Promise.race([ended, delay(30_000, 'nothing', { ref: false })]);
    const [sent] = Array.isArray(answer) ? (answer as { ok?: boolean; error?: { code: string } }[]) : [];
    expect(sent?.error?.code ?? answer).toBe('BACKEND');
  });

  it('is closed all the same', { timeout: 60_000 }, async () => {
    open({ maxRetries: 0 });
    await backend.enqueue([message('a')]);
    network.fallSilent({ whole: true });
    expect(await Promise.race([backend.close(), delay(30_000, 'nothing', { ref: false })])).toBeUndefined();
  });
});
