/** Real workers that are killed after each write of a chain: no link is lost, and none is there twice. */

import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import { lookAtBatches } from '../../../core/features/batches/look.ts';
import { connect, startWorker } from '../../../core/index.ts';
import { addressesWith } from '../databases.ts';
import { chained, open } from './program.ts';

const after: (() => unknown)[] = [];
const { url: urlOf, file } = addressesWith(after);
afterAll(() => Promise.all(after.map((work) => work())));
const script = join(import.meta.dirname, 'program.ts');

const later = (ms: number): Clock => ({ ...systemClock, now: () => Date.now() + ms });

function ended(...args: string[]): Promise<string | null> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
  return new Promise((resolve) => child.on('exit', (_, signal) => resolve(signal)));
}

const linesOf = (effects: string): string[] =>
  existsSync(effects) ? readFileSync(effects, 'utf8').trimEnd().split('\n') : [];

/** Until the chain has ended, at most four times: leases of the dead have ended, and a batch that did not move is looked at. */
async function drain(kind: string, url: string, effects: string): Promise<void> {
  for (const minutes of [2, 4, 6, 8]) {
    const clock = later(minutes * 60_000);
    const backend = open(kind, url, clock);
    const { app } = chained(effects, clock);
    const client = connect(app, backend);
    await startWorker(app, { backend, untilIdle: true }).done;
    const isOver = linesOf(effects).some((line) => line.startsWith('chain.x.4'));
    if (!isOver) await lookAtBatches(client);
    await client.close();
    if (isOver) return;
  }
}

/** All that a chain does, by the ids of its jobs; those of the inner batch are made of a digest. */
const effectsOfAll = [
  'batch.chain.x.2.0 >ab',
  'batch.chain.x.2.1 >ac',
  'batch.inner.0 1b',
  'batch.inner.1 2b',
  'chain.x.1 >a',
  'chain.x.4 >ab,>ac(1b 2b)d',
];

describe.each([
  ['sqlite', [1, 3, 4, 7, 9, 15]],
  ['postgres', [1, 3, 8]],
  ['redis', [2, 5, 12]],
])('on %s', (kind, writes) => {
  it('a worker that is killed after any write loses no link and starts none twice', async () => {
    const kill = async (write: number) => {
      const url = await urlOf(kind);
      const effects = file('txt');
      const signal = await ended(kind, url, effects, `${write}`);
      await drain(kind, url, effects);
      const known = linesOf(effects).map((line) => line.replace(/batch\.[0-9a-f]{32}\./, 'batch.inner.'));
      return { write, signal, lines: [...new Set(known)].toSorted() };
    };
    const rest = [...writes];
    const all: Awaited<ReturnType<typeof kill>>[] = [];
    const work = async () => {
      for (let write = rest.shift(); write !== undefined; write = rest.shift()) all.push(await kill(write));
    };
    await Promise.all([work(), work()]);
    all.sort((a, b) => a.write - b.write);
    expect(all).toEqual(writes.map((write) => ({ write, signal: 'SIGKILL', lines: effectsOfAll })));
  });
});
