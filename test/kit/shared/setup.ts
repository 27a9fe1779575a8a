/**
 * What the test files of a run share: one server of a kind, the package and the bundles built once. Each is made when the first
 * file asks for it: a run without Postgres tests neither waits for Postgres nor needs it.
 */

import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { keep } from '../servers/keeper.ts';
import { type Made, makers, type Shared } from './makers.ts';
import { useScratch } from './scratch.ts';

/** What a test file is told. */
export type Answer = { readonly value: unknown } | { readonly error: string };

declare module 'vitest' {
  interface ProvidedContext {
    /** A Unix socket: whoever sends a name of `makers`, and ends, is told as JSON where that is. */
    readonly shared: string;
    /** How many random sequences of operations a backend has to stand. */
    readonly sequences: number;
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const removeScratch = await useScratch();
  // A socket in a folder that is only ours, because answers hold passwords.
  const folder = await mkdtemp(join(tmpdir(), 'longshore-shared-'));
  const keeper = keep(folder);
  const path = join(folder, 'socket');
  const made = new Map<string, Promise<Made<unknown>>>();

  async function answerTo(name: string): Promise<Answer> {
    if (!made.has(name)) made.set(name, makers[name as keyof Shared](folder));
    return made.get(name)!.then(
      ({ value }) => ({ value }),
      (error: Error) => ({ error: error.message }),
    );
  }

  async function serve(connection: Socket): Promise<void> {
    connection.on('error', () => {}); // a test file that was stopped does not wait for the answer
    let name = '';
    for await (const text of connection.setEncoding('utf8')) name += text;
    connection.end(JSON.stringify(await answerTo(name)));
  }

  const server = createServer(
    { allowHalfOpen: true },
    (connection) => void serve(connection).catch(() => {}),
  );
  server.listen(path);
  await once(server, 'listening');
  server.unref();
  project.provide('shared', path);

  return async () => {
    server.close();
    // What could not be made was told to whoever asked.
    for (const each of await Promise.allSettled(made.values()))
      if (each.status === 'fulfilled') await each.value.end();
    await keeper.end();
    await removeScratch();
  };
}
