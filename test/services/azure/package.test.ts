/** What is deployed: the bundle in a Functions host, and host.json held against the app. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BlobServiceClient } from '@azure/storage-blob';
import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../../core/base/clock.ts';
import { createExampleApp } from '../../../examples/app/app.ts';
import { tableStore } from '../../../functions/azure/index.ts';
import { type FunctionsHost, startFunctions } from '../../../local/simulate/functions/host.ts';
import { createServiceBusTrigger } from '../../../local/simulate/functions/service-bus-trigger.ts';
import { startServiceBus } from '../../../local/simulate/service-bus/server.ts';
import { shared } from '../../kit/shared/shared.ts';
import { freshDatabase } from '../postgres/schemas.ts';

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string) => JSON.parse(readFileSync(join(root, path), 'utf8'));
const { app } = createExampleApp({} as never);
let folder: string;

beforeAll(async () => {
  ({ folder } = await shared('azure'));
});

describe('the folder that is deployed', () => {
  /** @param again Node loads a file once per address */
  const load = (again = ''): Promise<FunctionsHost> => {
    const { main } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return startFunctions(() => import(/* @vite-ignore */ `${pathToFileURL(join(folder, main))}${again}`));
  };

  it('is loaded without any setting, and registers a function per queue, timers and HTTP', async () => {
    const host = await load();
    expect(host.functions.map(({ name }) => name)).toEqual([
      ...app.queues.map((queue) => `longshore-worker-${queue}`),
      'longshore-schedule',
      'longshore-purge',
      'longshore-enqueue',
    ]);
  });

  /** The settings that say where state is; without a database it is in the storage of the account. */
  async function openState(kind: 'Postgres' | 'Table storage') {
    if (kind === 'Postgres') {
      const { url, drop } = await freshDatabase();
      return {
        settings: { DATABASE_URL: url, BLOB_ENDPOINT: 'https://shop.blob.core.windows.net/' },
        close: drop,
      };
    }
    const { connectionString } = await shared('azurite');
    await tableStore({ table: 'jobs', connectionString }).migrate();
    await BlobServiceClient.fromConnectionString(connectionString).getContainerClient('claims').create();
    return { settings: { AzureWebJobsStorage: connectionString }, close: async () => {} };
  }

  it.each(['Postgres', 'Table storage'] as const)(
    'enqueues over HTTP, and runs what comes, on %s',
    { timeout: 120_000 }, // starts a database or a storage account
    async (kind) => {
      const server = await startServiceBus();
      const state = await openState(kind);
      for (const queue of app.queues) server.createQueue(queue, { duplicateWindowMs: 600_000 });
      server.createQueue('webhooks-failed', { duplicateWindowMs: 600_000 });
      const settings = {
        SERVICEBUS_CONNECTION: server.connectionString,
        ...state.settings,
        API_KEY: 'k'.repeat(32),
        LONGSHORE_SIGNING_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
      };
      Object.assign(process.env, settings);
      const host = await load(`?on ${kind}`);
      const trigger = createServiceBusTrigger({
        host,
        connectionString: server.connectionString,
        clock: systemClock,
        functionTimeoutMs: 60_000,
      });
      try {
        server.write('webhooks', 'neither signed nor JSON');
        expect((await trigger.poll('webhooks')).map(({ end, thrown }) => [end, thrown])).toEqual([
          ['completed', null],
        ]);
        const [letter] = server.queue('webhooks-failed').peek(0, 10);
        expect(letter!.properties).toMatchObject({ 'longshore.reason': 'rejected' });
        const headers = { authorization: `Bearer ${settings.API_KEY}`, 'content-type': 'application/json' };
        const answer = await host.fetch('https://shop.example/api/jobs/report.nightly', {
          method: 'POST',
          headers,
          body: '{}',
        });
        const said = await answer.text();
        expect([answer.status, said]).toEqual([202, expect.stringContaining('statusUrl')]);
        const { id } = JSON.parse(said) as { id: string };
        const shown = await host.fetch(`https://shop.example/api/jobs/${id}`, { headers });
        expect(await shown.json()).toMatchObject({ id, status: 'pending' });
      } finally {
        await trigger.close();
        await host.terminate();
        await server.stop();
        await state.close();
        for (const name of Object.keys(settings)) delete process.env[name];
      }
    },
  );
});

/** "00:30:00" in ms. */
function msOf(time: string): number {
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
  return ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

describe('host.json', () => {
  const host = read('host.json');
  const { serviceBus, http } = host.extensions;
  const timeoutMs = msOf(host.functionTimeout);

  it('gives every job its time, and what azure() assumes', () => {
    expect(timeoutMs).toBe(1_800_000);
    for (const { name, timeoutMs: own } of app.jobs.values())
      expect(own + 10_000, name).toBeLessThanOrEqual(timeoutMs);
    expect(http.routePrefix).toBe('api');
  });

  it('renews locks as long as a function may run, and takes nothing in advance', () => {
    expect(msOf(serviceBus.maxAutoLockRenewalDuration)).toBeGreaterThanOrEqual(timeoutMs);
    expect(serviceBus.prefetchCount).toBe(0);
    expect(serviceBus.autoCompleteMessages).toBe(true);
  });

  it('keeps no empty session for long: the ninth group waits for it', () => {
    expect(serviceBus.maxConcurrentSessions).toBe(8);
    expect(msOf(serviceBus.sessionIdleTimeout)).toBeLessThanOrEqual(5_000);
  });

  it('has no retry policy, which Service Bus would not keep', () => {
    expect(Object.keys(host)).not.toContain('retry');
  });

  it('is deployed as it is, beside a main file that the repository names too', () => {
    expect(JSON.parse(readFileSync(join(folder, 'host.json'), 'utf8'))).toEqual(host);
    expect(read('package.json').main).toBe('dist/azure/main.mjs');
  });
});
