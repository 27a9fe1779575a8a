/** `longshore work --processes`: real processes that are killed, drained and replaced, on a queue in a file. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { isAlive } from '../dev/kit.ts';
import { imports, root, secret, shopOn } from './kit.ts';
import { projects } from './spawned.ts';

/** Each run of a job is a line: its process, and whether it ended. */
const config = `${imports}
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
export const backend = () => sqlite(import.meta.dirname + '/jobs.db');
export async function seed(payloads) {
  const client = longshore.connect(app, backend());
  const sent = await client.enqueueMany(count, payloads);
  await client.close();
  return sent;
}
`;

const make = projects();

interface Fleet {
  readonly process: ChildProcess;
  stderr(): string;
  stdout(): string;
  readonly ended: Promise<number | null>;
  /** `begin 3 4711` */
  runs(word: 'begin' | 'end'): readonly { n: number; pid: number }[];
  until(what: () => unknown): Promise<void>;
}

function startFleet(cwd: string, ...flags: string[]): Fleet {
  const child = spawn(process.execPath, [join(root, 'local/cli/main.ts'), 'work', ...flags], {
    cwd,
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
      for (const deadline = Date.now() + 15_000; Date.now() < deadline; ) {
        if (what()) return;
        await new Promise((wake) => setTimeout(wake, 20));
      }
      throw new Error(`${what} never came true:\n${text.stderr}\n${text.stdout}`);
    },
  };
  return fleet;
}

async function enqueue(cwd: string, count: number, ms: number): Promise<void> {
  const { seed } = await import(join(cwd, 'longshore.config.ts'));
  const sent: { ok: boolean }[] = await seed(Array.from({ length: count }, (_, n) => ({ n, ms })));
  if (!sent.every(({ ok }) => ok)) throw new Error(JSON.stringify(sent));
}

const pidsOf = (fleet: Fleet): number[] => [...new Set(fleet.runs('begin').map(({ pid }) => pid))];

/** Jobs whose run ended more than once, and those that never ended. */
function faultsOf(fleet: Fleet, count: number) {
  const ends = fleet.runs('end').map(({ n }) => n);
  return {
    twice: ends.filter((n, i) => ends.indexOf(n) !== i),
    lost: Array.from({ length: count }, (_, n) => n).filter((n) => !ends.includes(n)),
  };
}

const thirty = /^queue_jobs_processed_total\{[^}]*outcome="acked"[^}]*\} 30$/m;

describe('longshore work --processes', { timeout: 120_000 }, () => {
  it('runs every job once over a killed process, replaces it, and drains at SIGTERM', async ({ expect }) => {
    const cwd = make({ 'longshore.config.ts': config });
    await enqueue(cwd, 200, 100);
    const fleet = startFleet(cwd, '--processes', '2', '--concurrency', '2', '--lease', '1s', '--json');
    await fleet.until(() => pidsOf(fleet).length === 2 && fleet.runs('end').length > 10);
    const [victim] = pidsOf(fleet) as [number];
    process.kill(victim, 'SIGKILL');
    await fleet.until(() => pidsOf(fleet).length === 3 && faultsOf(fleet, 200).lost.length < 50);
    fleet.process.kill('SIGTERM');
    expect(await fleet.ended).toBe(0);
    expect(pidsOf(fleet).filter(isAlive)).toEqual([]);
    const data = JSON.parse(fleet.stdout());
    expect(data).toMatchObject({ reason: 'signal', processes: 2, restarts: 1, deadLetters: 0 });
    const endedByDead = fleet.runs('end').filter(({ pid }) => pid === victim).length;
    expect(data.counts.acked).toBe(fleet.runs('end').length - endedByDead);

    const rest = startFleet(cwd, '--processes', '2', '--drain', '--log', 'none');
    expect(await rest.ended).toBe(0);
    const { lost, twice } = faultsOf(rest, 200);
    expect(lost).toEqual([]);
    // The kill may fall between the end of a handler and the ack of its job, for each of the two slots.
    const lastOfDead = fleet
      .runs('end')
      .filter(({ pid }) => pid === victim)
      .slice(-2);
    expect(lastOfDead.map(({ n }) => n)).toEqual(expect.arrayContaining(twice));
    expect(rest.stdout()).toMatch(/^\d+ runs in /);
  });

  it('ends its processes when it is killed, and they finish their jobs', async ({ expect }) => {
    const cwd = make({ 'longshore.config.ts': config });
    await enqueue(cwd, 8, 1_500);
    const fleet = startFleet(cwd, '--processes', '2', '--concurrency', '2', '--log', 'none');
    await fleet.until(() => pidsOf(fleet).length === 2 && fleet.runs('begin').length === 4);
    fleet.process.kill('SIGKILL');
    await fleet.until(() => !pidsOf(fleet).some(isAlive));
    expect(fleet.runs('end').length).toBe(4);
    const rest = startFleet(cwd, '--processes', '1', '--drain', '--log', 'none');
    expect(await rest.ended).toBe(0);
    expect(faultsOf(rest, 8)).toEqual({ twice: [], lost: [] });
  });

  it('kills all at the second signal', async ({ expect }) => {
    const cwd = make({ 'longshore.config.ts': config });
    await enqueue(cwd, 2, 60_000);
    const fleet = startFleet(cwd, '--processes', '2', '--concurrency', '1', '--log', 'none');
    await fleet.until(() => pidsOf(fleet).length === 2);
    fleet.process.kill('SIGTERM');
    await new Promise((wake) => setTimeout(wake, 400));
    fleet.process.kill('SIGTERM');
    expect(await fleet.ended).toBe(143);
    await fleet.until(() => !pidsOf(fleet).some(isAlive));
  });

  it('adds the numbers of all processes, also of those that were replaced', async ({ expect }) => {
    const cwd = make({ 'longshore.config.ts': config });
    await enqueue(cwd, 30, 30);
    const limits = ['--max-jobs', '11', '--concurrency', '1', '--log', 'json'];
    const fleet = startFleet(cwd, '--processes', '2', '--metrics-port', '0', ...limits);
    await fleet.until(() => faultsOf(fleet, 30).lost.length === 0);
    await fleet.until(() => pidsOf(fleet).length >= 3);
    const url = /Metrics are at (\S+)/.exec(fleet.stderr())![1]!;
    let text = '';
    for (let i = 0; i < 100 && !thirty.test(text); i++) {
      text = await (await fetch(url)).text();
      await new Promise((wake) => setTimeout(wake, 50));
    }
    expect(text).toMatch(thirty);
    const health = async () => (await fetch(url.replace('/metrics', '/healthz'))).status;
    for (let i = 0; i < 100 && (await health()) !== 200; i++)
      await new Promise((wake) => setTimeout(wake, 50));
    expect(await health()).toBe(200);
    expect(new Set(fleet.stdout().match(/"process":\d/g))).toEqual(new Set(['"process":1', '"process":2']));
    fleet.process.kill('SIGTERM');
    expect(await fleet.ended).toBe(0);
  });

  it('ends with the code of a process that cannot start, and says why once', async ({ expect }) => {
    const broken = startFleet(make({ 'longshore.config.ts': 'throw new Error("no")' }), '--processes', '2');
    expect(await broken.ended).toBe(1);
    expect(broken.stderr()).toMatch(/^CONFIG: longshore.config.ts could not be loaded: .*no\.\n$/);

    const alone = startFleet(make({ 'longshore.config.ts': shopOn('memory()') }), '--processes', '2');
    expect(await alone.ended).toBe(2);
    expect(alone.stderr()).toMatch(/^USAGE: Backend "memory" keeps its jobs in the memory of one process/);

    const once = startFleet(make({ 'longshore.config.ts': config }), '--processes', '2', '--once');
    expect(await once.ended).toBe(2);
    expect(once.stderr()).toMatch(/--once.*--processes/);

    const many = startFleet(make({ 'longshore.config.ts': config }), '--processes', 'all');
    expect(await many.ended).toBe(2);
    expect(many.stderr()).toMatch(/Expected auto or an integer from 1 to 256/);
  });

  it('gives up on a process that cannot start again', async ({ expect }) => {
    const cwd = make({
      'longshore.config.ts': `${config}
import { existsSync } from 'node:fs';
if (existsSync(import.meta.dirname + '/runs')) throw new Error('changed');`,
    });
    await enqueue(cwd, 1, 100);
    const fleet = startFleet(cwd, '--processes', '1', '--max-jobs', '1', '--log', 'none');
    expect(await fleet.ended).toBe(1);
    expect(fleet.stderr()).toMatch(/Another one starts in 1 s\.[\s\S]*starts in 8 s\./);
    expect(fleet.stderr()).toMatch(/INTERNAL: Process 1 ended 5 times in a row, .*exit code 1/);
  });
});
