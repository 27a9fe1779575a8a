/** A stranger's app outside of this repository, with the package as it is released. */

import { execFile } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';
import { shared } from '../../kit/shared/shared.ts';

export const root = resolve(import.meta.dirname, '../../..');
const execute = promisify(execFile);

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StrangersApp {
  readonly folder: string;
  write(files: Readonly<Record<string, string>>): void;
  /** @param line arguments of `longshore`, parted by spaces */
  longshore(line: string, env?: NodeJS.ProcessEnv): Promise<Ended>;
  run(command: string, args: readonly string[], env?: NodeJS.ProcessEnv): Promise<Ended>;
  /** As if it had never been installed. */
  remove(name: string): void;
}

/** Two queues, a schedule, a limit, and a store without transactions. */
export const shopFiles: Readonly<Record<string, string>> = {
  'package.json': '{ "name": "@acme/shop", "type": "module", "private": true }',
  'jobs.ts': `
import { createApp, defineJob, defineSchedule } from 'longshore';
import * as z from 'zod';

export const sendMail = defineJob({
  name: 'mail.send',
  queue: 'mail',
  payload: z.object({ to: z.string() }),
  async handle({ to }) {
    console.log('mail to ' + to);
    return { to };
  },
});
export const importFile = defineJob({
  name: 'file.import',
  queue: 'import',
  timeoutMs: 120_000,
  concurrency: { limit: 4 },
  payload: z.object({ file: z.string() }),
  async handle({ file }, ctx) {
    await ctx.enqueue(sendMail, { to: file });
  },
});
export const app = createApp({
  jobs: [sendMail, importFile],
  queues: { import: { concurrency: { limit: 6 } } },
  schedules: [defineSchedule({ name: 'nightly', cron: '0 2 * * *', job: importFile, payload: { file: 'all.csv' } })],
});
`,
  'functions.ts': `
import { dynamoStore, lambda, sqs } from 'longshore/aws';
import { app } from './jobs.ts';

const { QUEUE_URL = '', TABLE = '', API_KEY = '', SMTP_URL = '' } = process.env;
if (SMTP_URL === 'x') console.log(SMTP_URL);

export const { worker, schedule, enqueue } = lambda(app, {
  backend: sqs({ queueUrl: QUEUE_URL }),
  store: dynamoStore({ table: TABLE }),
  apiKeys: [{ id: 'web', key: API_KEY || 'x'.repeat(32) }],
});
`,
  'longshore.config.ts': `
import { connect } from 'longshore';
import { dynamoStore, sqs } from 'longshore/aws';
import { memory } from 'longshore/local/memory';
import { app, importFile } from './jobs.ts';

export { app };
export const backend = () => memory();
export const deployment = { aws: { entry: './functions.ts' } };
export const simulation = {
  entry: './dist/functions/main.mjs',
  async start({ sqsEndpoint, queueUrl, table, dynamoEndpoint }) {
    const store = dynamoStore({ table, endpoint: dynamoEndpoint });
    const client = connect(app, sqs({ endpoint: sqsEndpoint, queueUrl }), { store });
    return {
      play: async () => void (await client.enqueue(importFile, { file: 'a.csv' })),
      stop: () => client.close(),
    };
  },
};
`,
};

/** Its node_modules has the released package itself, and what this repository has installed. */
export async function strangersApp(files: Readonly<Record<string, string>>): Promise<StrangersApp> {
  const { folder: packed } = await shared('release');
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'longshore-stranger-')));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const modules = join(folder, 'node_modules');
  mkdirSync(modules);
  for (const name of readdirSync(join(root, 'node_modules')).filter((name) => !name.startsWith('.'))) {
    const scoped = name.startsWith('@') ? readdirSync(join(root, 'node_modules', name)) : [''];
    for (const part of scoped) {
      mkdirSync(dirname(join(modules, name, part)), { recursive: true });
      symlinkSync(join(root, 'node_modules', name, part), join(modules, name, part));
    }
  }
  cpSync(packed, join(modules, 'longshore'), { recursive: true });

  async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Ended> {
    const { PATH, HOME } = process.env;
    const around = { PATH, HOME, NO_COLOR: '1', ...env };
    try {
      return { code: 0, ...(await execute(command, args, { cwd: folder, env: around })) };
    } catch (error) {
      const { code, stdout, stderr } = error as Ended;
      return { code, stdout, stderr };
    }
  }
  const app: StrangersApp = {
    folder,
    write(more) {
      for (const [path, text] of Object.entries(more)) {
        mkdirSync(dirname(join(folder, path)), { recursive: true });
        writeFileSync(join(folder, path), text);
      }
    },
    longshore: (line, env) =>
      run(process.execPath, [join(modules, 'longshore/local/cli/main.js'), ...line.split(' ')], env),
    run,
    remove: (name) => rmSync(join(modules, name), { recursive: true }),
  };
  app.write(files);
  return app;
}
