/**
 * One Postgres server for all test files of a run, started when the first of them asks: a run without Postgres tests
 * neither waits for it nor needs it.
 */

import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { keep } from '../../kit/servers/keeper.ts';
import { type Cluster, startCluster } from './cluster.ts';

/** What a test file learns when it asks. */
export type ClusterAnswer =
  | { readonly url: string; readonly superuserUrl: string }
  | { readonly error: string };

declare module 'vitest' {
  interface ProvidedContext {
    /** A Unix socket: whoever connects is told, as JSON, where the server is. */
    readonly postgresSocket: string;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  // A socket in a folder that is only ours, because the answer holds passwords.
  const folder = await mkdtemp(join(tmpdir(), 'longshore-ask-'));
  const keeper = keep(folder);
  const path = join(folder, 'socket');
  let cluster: Promise<Cluster> | null = null;
  const server = createServer((connection) => {
    connection.on('error', () => {}); // a test file that was stopped does not wait for the answer
    cluster ??= startCluster({ fsync: false });
    cluster.then(
      ({ url, superuserUrl }) =>
        connection.end(JSON.stringify({ url, superuserUrl } satisfies ClusterAnswer)),
      (error: Error) => connection.end(JSON.stringify({ error: error.message } satisfies ClusterAnswer)),
    );
  }).listen(path);
  await once(server, 'listening');
  server.unref();
  project.provide('postgresSocket', path);

  return async () => {
    server.close();
    const started = await cluster?.catch(() => null); // a failure to start was told to whoever asked
    await started?.remove();
    await keeper.end();
  };
}
