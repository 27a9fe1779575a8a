/**
 * The example app as Azure Functions: `npm run package:azure` makes the folder to deploy. This file must not throw while it is
 * loaded: the host would have no functions and hardly say why. The first call reports what is
 * missing. The shop's own data is a file here and lives as long as an instance's disk does.
 */

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { app as functions } from '@azure/functions';
import { azure, blobPayloads, tableStore } from '../../functions/azure/index.ts';
import { memoryStore } from '../../local/backends/memory/index.ts';
import { postgresStore } from '../../local/backends/postgres/store.ts';
import { createExampleApp } from '../app/app.ts';
import { createServices } from '../app/services.ts';

const setting = (name: string): string => process.env[name] ?? '';

const services = createServices({
  folder: join(tmpdir(), 'shop'),
  smtpUrl: setting('SMTP_URL') || 'smtp://localhost:25',
  webhookUrl: setting('WEBHOOK_URL'),
  paymentUrl: setting('PAYMENT_URL'),
});
const { app } = createExampleApp(services);

/** On a developer's machine the storage of local.settings.json; in Azure the app's identity, which needs no secret. */
function storage(endpoint: string) {
  const { AzureWebJobsStorage: connectionString } = process.env;
  return connectionString ? { connectionString } : { endpoint };
}

function store() {
  const url = setting('DATABASE_URL');
  if (url === 'memory') return memoryStore(); // for `longshore simulate functions`, where one process does everything
  const payloads = blobPayloads({ container: 'claims', ...storage(setting('BLOB_ENDPOINT')) });
  const state = url
    ? postgresStore(url)
    : tableStore({ table: 'jobs', ...storage(setting('TABLE_ENDPOINT')) });
  return { ...state, payloads };
}

azure(app, {
  functions,
  connection: 'SERVICEBUS_CONNECTION',
  store,
  apiKeys: [{ id: 'operator', key: setting('API_KEY') }],
});
