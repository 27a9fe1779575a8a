/** `longshore package azure` for a stranger's app: what it writes runs in the simulation, and fits the app. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type StrangersApp, shopFiles, strangersApp } from './kit.ts';

let shop: StrangersApp;

beforeAll(async () => {
  shop = await strangersApp({
    ...shopFiles,
    'main.ts': `
import { app as functions } from '@azure/functions';
import { azure, tableStore } from 'longshore/azure';
import { memoryStore } from 'longshore/local/memory';
import { app } from './jobs.ts';

const { TABLE_ENDPOINT: endpoint = '', SMTP_URL, API_KEY = '' } = process.env;
if (SMTP_URL === 'x') console.log(SMTP_URL);
azure(app, {
  functions,
  connection: 'SERVICEBUS_CONNECTION',
  store: () => (endpoint ? tableStore({ table: 'jobs', endpoint }) : memoryStore()),
  apiKeys: [{ id: 'web', key: API_KEY || 'x'.repeat(32) }],
});
`,
    'longshore.config.ts': `
import { connect } from 'longshore';
import { serviceBus } from 'longshore/azure';
import { memory, memoryStore } from 'longshore/local/memory';
import { app, importFile } from './jobs.ts';

export { app };
export const backend = () => memory();
export const deployment = { azure: { entry: './main.ts' } };
export const simulation = {
  functions: {
    entry: './dist/azure/main.mjs',
    async start({ connectionString }) {
      const client = connect(app, serviceBus({ connectionString, queues: app.queues }), { store: memoryStore() });
      return {
        play: async () => void (await client.enqueue(importFile, { file: 'a.csv' })),
        stop: () => client.close(),
      };
    },
  },
};
`,
  });
}, 400_000); // the release is built first

const read = (path: string) => JSON.parse(readFileSync(join(shop.folder, path), 'utf8'));

describe('longshore package azure', { timeout: 300_000 }, () => {
  it('writes a bundle, host.json and a template with the queues of the app', async () => {
    const { code, stdout, stderr } = await shop.longshore('package azure');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Written: host.json, azure.template.json.');
    const { parameters, resources } = read('azure.template.json');
    expect(Object.keys(parameters)).toEqual(expect.arrayContaining(['signingKeys', 'smtpUrl', 'apiKey']));
    const queues = resources.filter(({ type }: { type: string }) => type.endsWith('/queues'));
    expect(queues).toHaveLength(4);
    expect(read('dist/azure/host.json')).toEqual(read('host.json'));
    expect(read('dist/azure/package.json')).toMatchObject({ main: 'main.mjs', type: 'module' });
    expect((await shop.longshore('check azure --strict')).code).toBe(0);
  });

  it('writes a bundle that runs behind Service Bus', async () => {
    const keys = `k:${Buffer.alloc(32, 7).toString('base64')}`;
    const line = 'simulate functions --exit-when-idle --json --port 0';
    const { code, stdout, stderr } = await shop.longshore(line, { LONGSHORE_SIGNING_KEYS: keys });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // An import, and the mail that it enqueues.
    expect(JSON.parse(stdout)).toMatchObject({ done: 2, failedInvocations: 0 });
  });
});
