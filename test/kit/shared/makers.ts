/** How what the test files of a run share is made. */

import { execFile } from 'node:child_process';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { startCluster } from '../../services/postgres/cluster.ts';
import { startRedis } from '../../services/redis/server.ts';
import { startAzurite } from '../servers/azurite.ts';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../..');

export interface Shared {
  readonly postgres: { readonly url: string; readonly superuserUrl: string };
  /** With so many databases that each test file has one of its own. */
  readonly redis: { readonly url: string };
  readonly azurite: { readonly connectionString: string };
  /** The package as it is released, unpacked and packed. */
  readonly release: Release;
  /** The package `create-longshore`, likewise. */
  readonly create: Release;
  /** The folders that are deployed, with their templates. */
  readonly aws: { readonly folder: string };
  readonly azure: { readonly folder: string };
}

interface Release {
  readonly folder: string;
  readonly tarball: string;
  readonly files: readonly string[];
}

export interface Made<Value> {
  readonly value: Value;
  end(): Promise<unknown>;
}

/** @param folder goes with the run */
type Maker<Value> = (folder: string) => Promise<Made<Value>>;

const goesWithItsFolder = async (): Promise<void> => {};

export const makers: { readonly [Name in keyof Shared]: Maker<Shared[Name]> } = {
  async postgres() {
    const { url, superuserUrl, remove } = await startCluster({ fsync: false });
    return { value: { url, superuserUrl }, end: remove };
  },

  async redis() {
    const { url, remove } = await startRedis({ settings: { databases: '1000' } });
    return { value: { url }, end: remove };
  },

  async azurite() {
    const { connectionString, close } = await startAzurite();
    return { value: { connectionString }, end: close };
  },

  release: (temporary) => released('infra/release/build.ts', join(temporary, 'package')),
  create: (temporary) => released('infra/create/build.ts', join(temporary, 'create')),
  aws: (temporary) => packaged('aws', join(temporary, 'aws')),
  azure: (temporary) => packaged('azure', join(temporary, 'azure')),
};

async function released(builder: string, folder: string): Promise<Made<Release>> {
  await run(process.execPath, [builder, folder], { cwd: root });
  const temporary = dirname(folder);
  const pack = ['pack', '--json', '--pack-destination', temporary, folder];
  const [release] = JSON.parse((await run('npm', pack, { cwd: temporary })).stdout);
  const files = release.files.map((file: { path: string }) => file.path);
  return { value: { folder, tarball: join(temporary, release.filename), files }, end: goesWithItsFolder };
}

const osls = { SLS_NOTIFICATIONS_MODE: 'off', SLS_TELEMETRY_DISABLED: '1', AWS_REGION: 'eu-central-1' };

/** As it is deployed, by a program that finds no way out and no account: packaging needs none. */
async function packaged(cloud: 'aws' | 'azure', folder: string): Promise<Made<{ folder: string }>> {
  const { PATH, HOME } = process.env;
  const env = { PATH, HOME, HTTPS_PROXY: 'http://127.0.0.1:1', HTTP_PROXY: 'http://127.0.0.1:1' };
  const program = (...args: string[]) => run(process.execPath, args, { cwd: root, env: { ...env, ...osls } });
  const line = ['local/cli/main.ts', 'package', cloud, '--config', 'examples/longshore.config.ts'];
  if (cloud === 'azure') {
    await program(...line, '--out', folder);
    return { value: { folder: join(folder, 'dist/azure') }, end: goesWithItsFolder };
  }
  await program(...line); // osls reads serverless.yml at the root, which this finds unchanged
  const addresses = ['webhookUrl', 'paymentUrl'].map((name) => `--param=${name}=https://${name}.invalid`);
  await program('node_modules/osls/bin/serverless.js', 'package', '--package', folder, ...addresses);
  return { value: { folder }, end: goesWithItsFolder };
}
