/** `longshore work --processes` as its tests start it, and the runs of its jobs. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { until } from '../../kit/until.ts';
import { from, imports, root, secret } from './kit.ts';

/** Each run of a job is a line: its process, and whether it ended. @param backend an expression */
export const fleetConfig = (backend = "sqlite(import.meta.dirname + '/jobs.db')"): string => `${imports}
import { postgres } from ${from('local/backends/postgres/index.ts')};
import { redis } from ${from('local/backends/redis/index.ts')};
import { appendFileSync } from 'node:fs';
const write = (line) => appendFileSync(import.meta.dirname + '/runs', line + '\\n');
const count = defineJob({
  name: 'count',
  payload: z.object({ n: z.number(), ms: z.number() }),
  retry: fixed(20),
  async handle({ n, ms }) {
    write('begin ' + n + ' ' + process.pid);
    await new Promise((resolve) => setTimeout(resolve, ms));
    write('end ' + n + ' ' + process.pid);
  },
});
export const app = createApp({ jobs: [count] });
export const backend = () => ${backend};
export async function seed(payloads) {
  const client = longshore.connect(app, backend());
  const sent = await client.enqueueMany(count, payloads);
  await client.close();
  return sent;
}
`;

export interface Fleet {
  readonly process: ChildProcess;
  stderr(): string;
  stdout(): string;
  readonly ended: Promise<number | null>;
  /** `begin 3 4711` */
  runs(word: 'begin' | 'end'): readonly { n: number; pid: number }[];
  until(what: () => unknown): Promise<void>;
}

/** Its processes are killed at the end of the test, also those whose parent has ended. */
export function startFleet(cwd: string, ...flags: string[]): Fleet {
  const child = spawn(process.execPath, [join(root, 'local/cli/main.ts'), 'work', ...flags], {
    cwd,
    detached: true, // a group of their own, by which all are killed
    env: { ...process.env, LONGSHORE_SIGNING_KEYS: `first:${secret}`, NO_COLOR: '1', FORCE_COLOR: undefined },
  });
  const text = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (more: string) => {
      text[name] += more;
    });
  const fleet: Fleet = {
    process: child,
    stderr: () => text.stderr,
    stdout: () => text.stdout,
    ended: once(child, 'close').then(([code]) => code as number | null),
    runs(word) {
      const path = join(cwd, 'runs');
      const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n') : [];
      return lines
        .map((line) => line.split(' '))
        .filter(([first]) => first === word)
        .map(([, n, pid]) => ({ n: Number(n), pid: Number(pid) }));
    },
    async until(what) {
      await until(() => Boolean(what())).catch((error: Error) => {
        throw new Error(`${error.message}\n${text.stderr}\n${text.stdout}`);
      });
    },
  };
  onTestFinished(async () => {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {} // all have ended
    await fleet.ended;
  });
  return fleet;
}

export async function enqueue(cwd: string, count: number, ms: number): Promise<void> {
  const { seed } = await import(join(cwd, 'longshore.config.ts'));
  const sent: { ok: boolean }[] = await seed(Array.from({ length: count }, (_, n) => ({ n, ms })));
  if (!sent.every(({ ok }) => ok)) throw new Error(JSON.stringify(sent));
}

export const pidsOf = (fleet: Fleet): number[] => [...new Set(fleet.runs('begin').map(({ pid }) => pid))];

/** Jobs whose run ended more than once, and those that never ended. */
export function faultsOf(fleet: Fleet, count: number) {
  const ends = fleet.runs('end').map(({ n }) => n);
  return {
    twice: ends.filter((n, i) => ends.indexOf(n) !== i),
    lost: Array.from({ length: count }, (_, n) => n).filter((n) => !ends.includes(n)),
  };
}
