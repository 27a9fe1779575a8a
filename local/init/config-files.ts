/** `longshore.config.ts` for each backend, and the entry of the functions of a cloud. */

import type { Backend, Choices, Platform } from './choices.ts';
import { hasManyHosts } from './settings.ts';

export function configOf({ backend, platform }: Choices): string {
  const isShared = backend === 'beanstalkd' && hasManyHosts(platform);
  const [imports, exports] = isShared ? beanstalkdOnPostgres : configs[backend];
  const parts = [imports, `export { app } from './jobs.ts';`, exports, ...(simulations[platform] ?? [])];
  return `${parts.join('\n\n')}\n`;
}

/** Queues that keep no state have a store beside them; beanstalkd takes it itself. */
export const hasOwnStore = ({ backend }: Choices): boolean => backend === 'sqs' || backend === 'servicebus';

type Config = readonly [imports: string, exports: string];

const configs: Readonly<Record<Backend, Config>> = {
  sqlite: [
    `import { sqlite } from 'longshore/local/sqlite';`,
    `export const backend = () => sqlite(process.env.SQLITE_FILE ?? '.longshore/jobs.db');`,
  ],
  postgres: [
    `import { postgres } from 'longshore/local/postgres';`,
    `export const backend = () =>
  postgres(process.env.DATABASE_URL ?? 'postgres://postgres:postgres@127.0.0.1:5432/postgres');`,
  ],
  redis: [
    `import { redis } from 'longshore/local/redis';`,
    `export const backend = () => redis(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');`,
  ],
  beanstalkd: [
    `import { beanstalkd } from 'longshore/local/beanstalkd';
import { sqliteStore } from 'longshore/local/sqlite';`,
    `// The store has what beanstalkd cannot keep: history, keys and schedules.
export const backend = () =>
  beanstalkd({
    url: process.env.BEANSTALKD_URL ?? 'beanstalk://127.0.0.1:11300',
    store: sqliteStore(process.env.SQLITE_FILE ?? '.longshore/store.db'),
  });`,
  ],
  sqs: [
    `import { dynamoStore, sqs } from 'longshore/aws';`,
    `// QUEUE_URL is the start of every queue's URL. SQS keeps no state: it is in a table of DynamoDB.
export const backend = () => sqs({ queueUrl: process.env.QUEUE_URL ?? '', endpoint: process.env.SQS_ENDPOINT });
export const store = () => dynamoStore({ table: process.env.TABLE ?? '' });`,
  ],
  servicebus: [
    `import { serviceBus, tableStore } from 'longshore/azure';
import { sqliteStore } from 'longshore/local/sqlite';`,
    `export const backend = () =>
  serviceBus({ connectionString: process.env.SERVICEBUS_CONNECTION ?? '', keys: store().keys });

// Service Bus keeps no state: it is in Table storage, and on your own machine in a file.
export const store = () =>
  process.env.SQLITE_FILE
    ? sqliteStore(process.env.SQLITE_FILE)
    : tableStore({ connectionString: process.env.STORAGE_CONNECTION ?? '', table: 'longshore' });`,
  ],
};

/** A file of one machine is not seen by the workers of others. */
const beanstalkdOnPostgres: Config = [
  `import { beanstalkd } from 'longshore/local/beanstalkd';
import { postgresStore } from 'longshore/local/postgres';`,
  configs.beanstalkd[1].replace(/sqliteStore\(.*\)/, `postgresStore(process.env.DATABASE_URL ?? '')`),
];

const simulations: Readonly<Partial<Record<Platform, readonly string[]>>> = {
  aws: [
    `// For \`longshore simulate lambda\` and \`longshore package aws\`.
export const simulation = { entry: './functions.ts' };`,
  ],
  azure: [
    `// For \`longshore simulate functions\` and \`longshore package azure\`.
export const simulation = {
  functions: {
    entry: './main.ts',
    async start({ folder }: { folder: string }) {
      return { env: { SQLITE_FILE: \`\${folder}/store.db\` } };
    },
  },
};`,
  ],
};

export const functionFiles = ({ platform }: Choices): Readonly<Record<string, string>> =>
  functions[platform] ?? {};

const functions: Readonly<Partial<Record<Platform, Readonly<Record<string, string>>>>> = {
  aws: {
    'functions.ts': `import { lambda } from 'longshore/aws';
import { app, backend, store } from './longshore.config.ts';

export const { worker, schedule } = lambda(app, { backend: backend(), store: store() });
`,
  },
  azure: {
    'main.ts': `import { azure } from 'longshore/azure';
import { app, store } from './longshore.config.ts';

azure(app, { connection: 'SERVICEBUS_CONNECTION', store });
`,
  },
};
