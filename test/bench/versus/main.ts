/**
 * `npm run bench:versus -- <revision> [--rounds 5] [--only sqlite,postgres]`: this tree beside another revision of it, in turns. Needs git.
 *
 * One line for each backend and task: the medians of both, the ratio (more than 1: this tree is faster), and the lowest and highest ratio of the rounds.
 * A ratio says nothing while 1 lies between the lowest and the highest.
 */

import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { startBeanstalkd } from '../../services/beanstalkd/server.ts';
import { median } from '../kit/bench.ts';
import { startServer as startPostgres } from '../postgres/server.ts';
import { startServer as startRedis } from '../redis/server.ts';
import type { Measured, Order } from './child.ts';

/** A place for the jobs of one run. */
type Places = {
  at(use: (url: string, schema: string) => Promise<Measured>): Promise<Measured>;
  stop(): Promise<void>;
};

const root = resolve(import.meta.dirname, '../../..');

const servers: Record<string, (scratch: string) => Promise<Places>> = {
  memory: async () => ({ at: (use) => use('', 'bench'), stop: async () => {} }),
  async sqlite(scratch) {
    let files = 0;
    return { at: (use) => use(join(scratch, `${++files}.db`), 'bench'), stop: async () => {} };
  },
  postgres: async () => networkOf(await startPostgres()),
  redis: async () => networkOf(await startRedis()),
  async beanstalkd() {
    const server = await startBeanstalkd({ binlog: true, args: ['-f', '50'] });
    let tubes = 0;
    return { at: (use) => use(server.url, `bench_${++tubes}`), stop: () => server.remove() };
  },
};

const networkOf = (server: Awaited<ReturnType<typeof startPostgres>>): Places => ({
  at: (use) => server.at(({ url, schema }) => use(url, schema)),
  stop: () => server.stop(),
});

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      only: { type: 'string', default: Object.keys(servers).join(',') },
    },
  });
  const [revision] = positionals;
  const rounds = Number(values.rounds);
  const names = values.only.split(',');
  const unknown = names.find((name) => !(name in servers));
  if (!revision || !(rounds >= 1) || unknown !== undefined) {
    console.error(
      'Usage: npm run bench:versus -- <revision> [--rounds 5] [--only memory,sqlite,postgres,redis,beanstalkd]',
    );
    process.exit(2);
  }
  const scratch = mkdtempSync(join(tmpdir(), 'longshore-versus-'));
  try {
    const trees = { ours: root, theirs: extract(revision, scratch) };
    console.log(`Node ${process.version}, ${rounds} rounds, this tree beside ${revision}`);
    for (const name of names) await compare(name, trees, rounds, scratch);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The other revision's files, with the packages of this tree. */
function extract(revision: string, scratch: string): string {
  const tree = join(scratch, 'tree');
  mkdirSync(tree);
  const archive = execFileSync('git', ['archive', revision], { cwd: root, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', tree], { input: archive });
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'), 'junction');
  return tree;
}

async function compare(
  backend: string,
  trees: { readonly ours: string; readonly theirs: string },
  rounds: number,
  scratch: string,
): Promise<void> {
  const places = await servers[backend]!(scratch);
  const measured: Record<keyof typeof trees, Measured[]> = { ours: [], theirs: [] };
  try {
    for (let round = 0; round < rounds; round++) {
      const order: (keyof typeof trees)[] = round % 2 === 0 ? ['ours', 'theirs'] : ['theirs', 'ours'];
      for (const who of order) {
        measured[who].push(await places.at((url, schema) => run({ tree: trees[who], backend, url, schema })));
      }
    }
  } finally {
    await places.stop();
  }
  for (const task of Object.keys(measured.ours[0]!)) {
    const values = (who: keyof typeof trees) => measured[who].map((one) => one[task]!);
    const ratios = values('ours').map((value, i) => values('theirs')[i]! / value);
    const [ours, theirs] = [median(values('ours')), median(values('theirs'))];
    const line = [
      `${backend} ${task}`.padEnd(34),
      `${ours.toFixed(1).padStart(8)} µs`,
      `${theirs.toFixed(1).padStart(8)} µs`,
      `${median(ratios).toFixed(2)} ×`,
      `(${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
    ];
    console.log(line.join('  '));
  }
}

async function run(order: Order): Promise<Measured> {
  const child = fork(join(import.meta.dirname, 'child.ts'), { execArgv: ['--expose-gc', '--no-warnings'] });
  child.send(order);
  const timer = setTimeout(() => child.kill('SIGKILL'), 180_000);
  const [answer] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [
    Measured | number | null,
  ];
  clearTimeout(timer);
  if (typeof answer !== 'object' || answer === null)
    throw new Error(`${order.backend} of ${order.tree} ended without a result.`);
  return answer;
}

await main();
