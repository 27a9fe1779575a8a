/** A project that has installed the tarball of the package, and the drivers of all backends. */

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { shared } from '../../kit/shared/shared.ts';

export const root = resolve(import.meta.dirname, '../../..');
export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
export const subpaths = Object.keys(manifest.exports).map((subpath) => subpath.replace('.', 'longshore'));

/** For `longshore simulate`, which says what it misses. */
const tools = ['aws-lambda-ric', 'dynalite', 'esbuild', 'fauxqs', 'yaml'];
/** Who uses a subpath installs its driver; here all of them. */
const drivers = Object.keys(manifest.peerDependencies).filter((name) => !tools.includes(name));
const versionsOf = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, manifest.devDependencies[name]]));

export const env = {
  ...process.env,
  LONGSHORE_SIGNING_KEYS: `test:${Buffer.alloc(32, 7).toString('base64')}`,
};
export const execute = promisify(execFile);

/** Resolves with what the program printed; a failure shows it too. The timeout only ends what hangs. */
export async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  timeout = 110_000,
): Promise<string> {
  try {
    return (await execute(command, args, { cwd, env, timeout })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`, { cause: error });
  }
}

export const compile = (folder: string): Promise<string> =>
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', folder], folder);

/** Returns a new temporary folder and the project in it. The caller removes the folder: it has thousands of files. */
export async function installConsumer(more: readonly string[] = []) {
  const { tarball } = await shared('release');
  const temporary = mkdtempSync(join(tmpdir(), 'longshore-package-'));
  const consumer = join(temporary, 'consumer');
  const project = {
    name: 'consumer',
    private: true,
    type: 'module',
    dependencies: { longshore: `file:${tarball}`, ...versionsOf([...drivers, ...more]) },
    devDependencies: versionsOf(['@types/node']),
  };
  // With this repository's lock as a start, npm finds all it needs in the cache that `npm ci` filled.
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  lock.packages[''] = { name: 'consumer' };
  mkdirSync(consumer);
  writeFileSync(join(consumer, 'package.json'), JSON.stringify(project));
  writeFileSync(join(consumer, 'package-lock.json'), JSON.stringify(lock));
  const install = ['install', '--prefer-offline', '--ignore-scripts', '--prefix', consumer];
  await run('npm', install, consumer, 200_000);
  return { temporary, consumer };
}

/** The release is built first, or another test is building it. */
export const installTimeoutMs = 400_000;

/** A user's file: one job with a schema of its own, run on SQLite. */
export const jobs = `
import { createApp, defineJob } from 'longshore';
import { startLocal } from 'longshore/local';
import { sqlite } from 'longshore/local/sqlite';

const payload = {
  '~standard': {
    version: 1,
    vendor: 'consumer',
    validate: (value: unknown) => ({ value: value as { name: string } }),
    types: undefined as unknown as { input: { name: string }; output: { name: string } },
  },
} as const;
const greet = defineJob({ name: 'greet', payload, handle: ({ name }) => \`Hello, \${name}\` });
const app = createApp({ jobs: [greet] });
const local = await startLocal(app, { backend: sqlite('jobs.db'), logger: false });
const { id } = await local.client.enqueue(greet, { name: 'Ada' });
// @ts-expect-error a name is a string
const wrong = () => local.client.enqueue(greet, { name: 1 });

const deadlineAt = Date.now() + 10_000;
let record = await local.client.status(id);
while (record?.status !== 'completed' && Date.now() < deadlineAt) {
  await new Promise((resolve) => setTimeout(resolve, 5));
  record = await local.client.status(id);
}
await local.stop();
console.log(\`\${record?.status}: \${record?.output}\`);
export { wrong };
`;
