/** Real servers on loopback, names that only the test knows, and jobs that run once. */

import { createServer as createHttp, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcp, type Server, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { LongshoreError } from '../../../core/base/errors.ts';
import type { Lookup } from '../../../core/jobs/targets.ts';
import type { Job } from '../../../core/kernel/app/job.ts';
import type { EnqueueOptions } from '../../../core/kernel/app/options.ts';
import type { AttemptResult } from '../../../core/kernel/attempt/attempt.ts';
import { createRun, type Run } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { testJobs } from '../../testing/index.ts';

export interface Ran extends AttemptResult {
  readonly output: unknown;
}

/** Enqueues the job and runs its first attempt. */
export async function runOnce<Input>(
  job: Job<Input>,
  payload: NoInfer<Input>,
  options: EnqueueOptions = {},
): Promise<Ran> {
  const t = testJobs(job as Job);
  const { id } = await t.client.enqueue(job as Job, payload, options);
  const [result] = await t.drain();
  return { ...result!, output: (await t.status(id))?.output ?? null };
}

/** Begins the first attempt, to be interrupted by the test. */
export async function begin<Input>(
  job: Job<Input>,
  payload: NoInfer<Input>,
  lease: { interrupted?: boolean } = {},
): Promise<{ run: Run; done: Promise<AttemptResult> }> {
  const { app, client, backend } = testJobs(job as Job);
  await client.enqueue(job as Job, payload);
  const [fetched] = await backend.fetch({ queues: [job.queue], max: 1, leaseMs: 60_000, waitMs: 0 });
  const run = createRun({ ...fetched!, ...lease });
  return { run, done: attempt(app, { client, settler: backend }, run) };
}

/** The error of a call that must fail, as code and message. */
export async function refused(call: () => unknown): Promise<{ code: string; message: string }> {
  try {
    await call();
  } catch (error) {
    if (error instanceof LongshoreError) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error('Expected the call to fail, but it succeeded.');
}

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface TestServer {
  readonly port: number;
  /** Complete requests, in order. */
  readonly seen: Seen[];
  readonly connections: () => number;
}

async function listen(server: Server): Promise<{ port: number; connections: () => number }> {
  const sockets = new Set<Socket>();
  let count = 0;
  server.on('connection', (socket: Socket) => {
    count++;
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, connections: () => count };
}

export function recording(seen: Seen[], respond: RequestListener): RequestListener {
  return async (request, response) => {
    seen.push({
      method: request.method!,
      url: request.url!,
      headers: request.headers as Record<string, string>,
      body: await bodyOf(request),
    });
    respond(request, response);
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

export async function httpServer(respond: RequestListener): Promise<TestServer> {
  const seen: Seen[] = [];
  return { seen, ...(await listen(createHttp(recording(seen, respond)))) };
}

/** Takes over a server that is not listening yet, for example one with TLS. */
export const listening = (server: Server) => listen(server);

/** Answers every connection with whatever `talk` writes, HTTP or not. */
export async function rawServer(talk: (socket: Socket) => void) {
  return listen(
    createTcp((socket) => {
      socket.resume();
      talk(socket);
    }),
  );
}

/** A resolver with a script: each question for a name takes the next of its answers; the last one stays. */
export function scriptedLookup(script: Readonly<Record<string, readonly (readonly string[])[]>>) {
  const asked: string[] = [];
  const lookup: Lookup = async (hostname) => {
    const answers = script[hostname];
    if (!answers) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
    const turn = asked.filter((name) => name === hostname).length;
    asked.push(hostname);
    const addresses = answers[Math.min(turn, answers.length - 1)]!;
    return addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  };
  return { asked, lookup };
}
