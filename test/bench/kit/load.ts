/** Sends jobs over HTTP at a steady rate and counts what became of them. Used by the benchmark and by a short test. */

import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import * as z from 'zod';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { createApp, defineJob, keyRing } from '../../../core/index.ts';
import { startLocal } from '../../../local/start.ts';

export interface LoadOptions {
  readonly backend: QueueBackend;
  readonly requests: number;
  /** Infinity = all at once. */
  readonly perSecond: number;
  readonly connections: number;
}

export interface LoadResult {
  readonly asked: number;
  readonly accepted: number;
  /** Answers that were not 202, by status; connection errors as `error`. */
  readonly refused: Readonly<Record<string, number>>;
  /** Ids in the queue's records afterwards that the answers named. */
  readonly stored: number;
  /** Distinct numbers that the handler has seen. */
  readonly run: number;
  readonly runTwice: number;
  readonly sendSeconds: number;
  readonly drainSeconds: number;
  /** Of an answer, in ms. */
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

const key = 'load.0123456789abcdef0123456789abcdef';
/** Requests of one tick of the sender leave together. */
const tickMs = 10;
/** Only ends what hangs. */
const longestDrainMs = 100_000;

export async function load({ backend, requests, perSecond, connections }: LoadOptions): Promise<LoadResult> {
  const runs = new Map<number, number>();
  const count = defineJob({
    name: 'count',
    payload: z.object({ n: z.int() }),
    async handle({ n }) {
      runs.set(n, (runs.get(n) ?? 0) + 1);
    },
  });
  const app = createApp({ jobs: [count], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
  const local = await startLocal(app, {
    backend,
    signals: [],
    logger: false,
    concurrency: 100,
    http: { port: 0, apiKeys: [{ id: 'load', key }], rateLimit: false },
  });
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const total = requests;
  const ids: string[] = [];
  const refused: Record<string, number> = {};
  const latencies: number[] = [];

  const sendOne = (n: number): Promise<void> =>
    new Promise((resolve) => {
      const body = JSON.stringify({ n });
      const begun = performance.now();
      const done = (what: string | null): void => {
        latencies.push(performance.now() - begun);
        if (what !== null) refused[what] = (refused[what] ?? 0) + 1;
        resolve();
      };
      const headers = {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      };
      const { port } = local.http!;
      const call = request(
        { agent, port, host: '127.0.0.1', method: 'POST', path: '/jobs/count', headers },
        (answer) => {
          let text = '';
          answer.setEncoding('utf8').on('data', (chunk) => (text += chunk));
          answer.on('end', () => {
            if (answer.statusCode === 202) ids.push((JSON.parse(text) as { id: string }).id);
            done(answer.statusCode === 202 ? null : String(answer.statusCode));
          });
        },
      );
      call.on('error', () => done('error'));
      call.end(body);
    });

  const startedAt = performance.now();
  const answers: Promise<void>[] = [];
  while (answers.length < total) {
    const seconds = (performance.now() - startedAt) / 1000 || Number.EPSILON;
    const due = Math.min(total, Math.ceil(seconds * perSecond));
    while (answers.length < due) answers.push(sendOne(answers.length));
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  }
  await Promise.all(answers);
  const sentAt = performance.now();
  agent.destroy();
  while (runs.size < ids.length && performance.now() - sentAt < longestDrainMs) {
    await new Promise((resolve) => setTimeout(resolve, tickMs));
  }
  const drainedAt = performance.now();
  let stored = 0;
  for (const id of ids) if ((await local.client.status(id)) !== null) stored++;
  await local.stop();
  latencies.sort((a, b) => a - b);
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return {
    asked: total,
    accepted: new Set(ids).size,
    refused,
    stored,
    run: runs.size,
    runTwice: [...runs.values()].filter((times) => times > 1).length,
    sendSeconds: (sentAt - startedAt) / 1000,
    drainSeconds: (drainedAt - sentAt) / 1000,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    maxMs: at(1),
  };
}
