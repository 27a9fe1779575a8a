/**
 * The example app as Azure Functions: `npm run package:azure` makes the folder to deploy. This file must not throw while it is
 * loaded: the host would have no functions and hardly say why. The first call reports what is missing. The shop's own data is in a
 * Postgres, its files in a container.
 */

import { app as functions } from '@azure/functions';
import { azure, blobPayloads, tableStore } from '../../functions/azure/index.ts';
import { memoryStore } from '../../local/backends/memory/index.ts';
import { postgresStore } from '../../local/backends/postgres/store.ts';
import { createExampleApp } from '../app/app.ts';
import { functionServices } from '../cloud/services.ts';
import { blobFiles } from './files.ts';

const setting = (name: string): string => process.env[name] ?? '';

/** On a developer's machine the storage of local.settings.json; in Azure the app's identity, which needs no secret. */
function storage(endpoint: string) {
  const { AzureWebJobsStorage: connectionString } = process.env;
  return connectionString ? { connectionString } : { endpoint };
}

const { app } = createExampleApp(
  functionServices(blobFiles('shop', () => storage(setting('BLOB_ENDPOINT')))),
);

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
