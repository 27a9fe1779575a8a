/**
 * `node test/bench/worker/processes.ts sqlite|redis [pairs]`: what `longshore work --processes 2` runs against `--processes 1`, in turns, with jobs
 * that take 0.2 ms of CPU. Counted is the time in which all processes run. Redis itself runs on the same cores. Only the ratios say something.
 */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { median } from '../kit/bench.ts';
import { perSecond } from '../kit/task.ts';
import { startServer } from '../redis/server.ts';

const root = resolve(import.meta.dirname, '../../..');
const from = (path: string): string => JSON.stringify(pathToFileURL(join(root, path)).href);
const jobs = 10_000;
const jobCpuMs = 0.2;
const warmUpMs = 500;
process.env.LONGSHORE_SIGNING_KEYS = `bench:${Buffer.alloc(32, 7).toString('base64')}`;

/** Each process writes when its jobs ended. */
const config = (backend: string, turns: number): string => `
import { writeFileSync } from 'node:fs';
import { createApp, defineJob, connect } from ${from('core/index.ts')};
import { redis } from ${from('local/backends/redis/index.ts')};
import { sqlite } from ${from('local/backends/sqlite/index.ts')};
import * as z from ${from('node_modules/zod/index.js')};
${burn}
const ends = [];
const job = defineJob({ name: 'burn', payload: z.object({ n: z.int() }), handle() {
  burn(${turns});
  ends.push(Date.now());
} });
process.once('exit', () => {
  if (ends.length > 0) writeFileSync(import.meta.dirname + '/ends-' + process.pid + '.json', JSON.stringify(ends));
});
export const app = createApp({ jobs: [job] });
export const backend = () => ${backend};
export async function fill(count) {
  const client = connect(app, backend());
  for (let n = 0; n < count; n += 1_000) {
    const sent = await client.enqueueMany(job, Array.from({ length: 1_000 }, (_, i) => ({ n: n + i })));
    if (!sent.every(({ ok }) => ok)) throw new Error('A job was not enqueued.');
  }
  await client.close();
}
`;

function burn(turns: number): number {
  let x = 1;
  for (let i = 0; i < turns; i++) x = (x * 16_807) % 2_147_483_647;
  return x;
}

/** In CPU time, because others may use the machine. */
function turnsOf(ms: number): number {
  const turns = 2_000_000;
  burn(turns); // is compiled
  const begin = process.cpuUsage();
  for (let i = 0; i < 20; i++) burn(turns);
  const { user } = process.cpuUsage(begin);
  return Math.round((turns * 20 * ms * 1_000) / user);
}

/** Jobs per second. */
async function rate(processes: number, backend: string, turns: number): Promise<number> {
  const cwd = mkdtempSync(join(tmpdir(), 'longshore-processes-'));
  try {
    writeFileSync(join(cwd, 'package.json'), '{"type":"module"}');
    writeFileSync(join(cwd, 'longshore.config.ts'), config(backend, turns));
    const { fill } = await import(join(cwd, 'longshore.config.ts'));
    await fill(jobs);
    const argv = [join(root, 'local/cli/main.ts'), 'work', '--drain', '--log', 'none', '--no-schedules'];
    const child = spawn(process.execPath, [...argv, '--processes', String(processes)], {
      cwd,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const [code] = await once(child, 'exit');
    const all = readdirSync(cwd)
      .filter((name) => name.startsWith('ends-'))
      .map((name) => JSON.parse(readFileSync(join(cwd, name), 'utf8')) as number[]);
    const ran = all.flat().length;
    if (code !== 0 || all.length !== processes || ran !== jobs)
      throw new Error(
        `Expected ${jobs} runs in ${processes} processes, got ${ran} in ${all.length}, code ${code}.`,
      );
    const begin = Math.max(...all.map((ends) => ends[0]!)) + warmUpMs;
    const end = Math.min(...all.map((ends) => ends.at(-1)!));
    return perSecond(all.flat().filter((at) => at >= begin && at < end).length, end - begin);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
}

/** Gives `use` the expression of an empty backend. */
type At = (use: (backend: string) => Promise<number>) => Promise<number>;

const load = (): string => loadavg()[0]!.toFixed(1);

async function measure(name: string, pairs: number, at: At) {
  const turns = turnsOf(jobCpuMs);
  const ratios: number[] = [];
  for (let pair = 1; pair <= pairs; pair++) {
    const before = load();
    const one = await at((backend) => rate(1, backend, turns));
    const two = await at((backend) => rate(2, backend, turns));
    ratios.push(two / one);
    console.log(
      `${name}, pair ${pair}: one ${one.toFixed(0)}/s, two ${two.toFixed(0)}/s, ratio ${(two / one).toFixed(2)}; load ${before} before, ${load()} after`,
    );
  }
  console.log(`${name}: median ratio ${median(ratios).toFixed(2)} on ${availableParallelism()} cores`);
}

const [name = 'sqlite', pairs = '3'] = process.argv.slice(2);
if (name === 'sqlite') {
  await measure(name, Number(pairs), (use) => use("sqlite(import.meta.dirname + '/jobs.db')"));
} else if (name === 'redis') {
  const server = await startServer();
  await measure(name, Number(pairs), (use) =>
    server.at(({ url }) => use(`redis(${JSON.stringify(url)})`)),
  ).finally(server.stop);
} else throw new Error(`Expected sqlite or redis, got ${name}.`);
