/** A server program of the tests' own: on a free port, on the same one after a restart, gone when the tests are. */

import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { freePort } from '../network/free-port.ts';
import { type Keeper, keep } from './keeper.ts';

export interface OwnServer {
  readonly port: number;
  readonly pid: number;
  start(): Promise<void>;
  stop(signal: NodeJS.Signals): Promise<void>;
  signal(name: NodeJS.Signals): void;
  /** Stops it and removes its folder; without this call that happens when this process ends, however it ends. */
  remove(signal: NodeJS.Signals): Promise<void>;
}

/**
 * Begins in `folder`, which goes with it, also when it does not start.
 * @param prepare makes what it needs there
 * @param launch resolves when it takes connections on the port; rejects with what it wrote when it ends before that
 */
export async function ownServer(
  folder: string,
  prepare: () => Promise<void>,
  launch: (port: number) => Promise<ChildProcess>,
): Promise<OwnServer> {
  const keeper = keep(folder);
  try {
    await prepare();
    return await begin(keeper, launch);
  } catch (error) {
    await keeper.end();
    throw error;
  }
}

async function begin(keeper: Keeper, launch: (port: number) => Promise<ChildProcess>): Promise<OwnServer> {
  let { server, port } = await onFreePort(launch);
  keeper.watch(server.pid!);
  async function stop(signal: NodeJS.Signals): Promise<void> {
    if (!isRunning(server)) return;
    server.ref();
    const ended = once(server, 'exit');
    server.kill('SIGCONT'); // a server that was paused would not hear the next one
    server.kill(signal);
    await ended;
    keeper.watch(null);
  }
  return {
    port,
    get pid() {
      return server.pid!;
    },
    async start() {
      if (isRunning(server)) return;
      server = await launch(port);
      keeper.watch(server.pid!);
    },
    stop,
    signal: (name) => void server.kill(name),
    async remove(signal) {
      await stop(signal);
      await keeper.end();
    },
  };
}

/** Nothing can hold a port for a program that cannot be given one: when another was quicker, the next is tried. */
async function onFreePort(launch: (port: number) => Promise<ChildProcess>) {
  for (let tries = 1; ; tries++) {
    const port = await freePort();
    try {
      return { port, server: await launch(port) };
    } catch (error) {
      if (tries === 5 || !/in use/i.test(String(error))) throw error;
    }
  }
}

const isRunning = (server: ChildProcess): boolean => server.exitCode === null && server.signalCode === null;

/**
 * Resolves when it is ready; rejects with what it wrote when it ends before that. From then on it does not keep this process alive:
 * the keeper knows what to do when that ends.
 * @param isReady by what it has written so far, or a promise of its own
 */
export async function started(
  name: string,
  server: ChildProcess,
  output: Readable,
  isReady: RegExp | Promise<void>,
): Promise<ChildProcess> {
  let log = '';
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {}); // later it ends when it is told to
  const said = Promise.withResolvers<void>();
  server.once('error', failed.reject);
  server.once('close', (code) =>
    failed.reject(new Error(`${name} ended with code ${code} while starting:\n${log}`)),
  );
  output.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-4_000);
    if (isReady instanceof RegExp && isReady.test(log)) said.resolve();
  });
  await Promise.race([failed.promise, isReady instanceof RegExp ? said.promise : isReady]);
  server.unref();
  (output as unknown as { unref(): void }).unref();
  return server;
}
