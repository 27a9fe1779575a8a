/** Real processes that are killed: no second row, no row twice in the count, and what the batch calls runs once. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { lookAtBatches } from '../../../core/features/batches/look.ts';
import { connect, startWorker } from '../../../core/index.ts';
import { addressesWith } from '../databases.ts';
import { id, open, rows, shop } from './program.ts';

const after: (() => unknown)[] = [];
const { url: urlOf, file } = addressesWith(after);
afterAll(() => Promise.all(after.map((work) => work())));
const script = join(import.meta.dirname, 'program.ts');

/** Leases of the dead have ended, and a batch that did not move is looked at. */
const later = (ms: number): Clock => ({ ...systemClock, now: () => Date.now() + ms });

async function killed(...args: string[]): Promise<void> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [[, signal], stdout, stderr] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ]);
  expect({ signal, stdout, stderr }).toEqual({ signal: 'SIGKILL', stdout: '', stderr: '' });
}

async function drain(kind: string, url: string, effects: string, ms: number): Promise<void> {
  const clock = later(ms);
  const backend = open(kind, url, clock);
  const { app } = shop(effects, clock);
  const client = connect(app, backend);
  await startWorker(app, { backend, untilIdle: true }).done;
  await lookAtBatches(client);
  await startWorker(app, { backend, untilIdle: true }).done;
  await client.close();
}

const linesOf = (effects: string): string[] => readFileSync(effects, 'utf8').trimEnd().split('\n');
const calls = [
  `success ${rows} ${rows} 0, job batch-end.${id}.onSuccess.1`,
  `complete ${rows} ${rows} 0, job batch-end.${id}.onComplete.1`,
];
const allRows = Array.from({ length: rows }, (_, n) => `row ${n}`);

// They wait for processes most of the time.
describe.concurrent.each(['sqlite', 'postgres', 'redis'])('on %s', (kind) => {
  // Each chunk is planned (`sent`) and then sent (`enqueue`). The seventh `sent` seals.
  it.each([
    ['open', 1, 'after'],
    ['sent', 1, 'after'],
    ['enqueue', 1, 'after'],
    ['enqueue', 4, 'before'],
    ['enqueue', 4, 'after'],
    ['sent', 7, 'before'],
    ['sent', 7, 'after'],
  ])('an importer that is killed at %s %i (%s it) goes on without a second row', async (verb, call, when) => {
    const url = await urlOf(kind);
    const effects = file('txt');
    await killed('importer', kind, url, effects, verb, `${call}`, when);
    if (call > 3) await drain(kind, url, effects, 0);
    const backend = open(kind, url);
    expect(await shop(effects).send(backend)).toMatchObject({ id, total: rows });
    expect(await shop(effects).send(backend)).toMatchObject({ id, total: rows });
    await backend.close();
    await drain(kind, url, effects, 0);
    expect(linesOf(effects).toSorted()).toEqual([...allRows, ...calls].toSorted());
  });

  it.each([
    ['ended', 1, 'before'],
    ['ended', 1, 'after'],
    ['ack', 2, 'after'],
    ['enqueue', 1, 'before'],
    ['enqueue', 1, 'after'],
    ['called', 1, 'after'],
  ])(
    'a worker that is killed at %s %i (%s it) loses no child and counts none twice',
    async (verb, call, when) => {
      const url = await urlOf(kind);
      const effects = file('txt');
      const backend = open(kind, url);
      await shop(effects).send(backend);
      await backend.close();
      await killed('worker', kind, url, effects, verb, `${call}`, when);
      for (const minutes of [2, 4, 6]) await drain(kind, url, effects, minutes * 60_000);
      // A job whose worker dies may begin twice; a second job, or another count, would be another line.
      expect([...new Set(linesOf(effects))].toSorted()).toEqual([...allRows, ...calls].toSorted());
    },
  );
});
