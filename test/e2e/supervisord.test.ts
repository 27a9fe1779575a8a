/** A project's own files under a real supervisord: a worker is killed, and a release is deployed, while jobs run. */

import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram, need } from '../kit/servers/programs.ts';
import { until } from '../kit/until.ts';
import { type Machine, type Running, startMachine } from './create-kit.ts';

const jobs = `
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createApp, defineJob } from 'longshore';
import * as z from 'zod';

const isBroken = false;
if (isBroken && process.argv.includes('work')) throw new Error('a release that cannot work');
const write = (text: string) => appendFileSync(process.env.SHOP_LOG!, text + '\\n');

export const pack = defineJob({
  name: 'pack',
  payload: z.object({ n: z.int() }),
  async handle({ n }) {
    write('begin ' + n + ' ' + process.pid);
    await sleep(300);
    write('end ' + n + ' ' + process.pid);
  },
});
export const app = createApp({ jobs: [pack], queues: { urgent: {} } });
`;

const send = `
import { connect } from 'longshore';
import { pack } from './jobs.ts';
import { app, backend } from './longshore.config.ts';

const client = connect(app, backend());
const count = Number(process.argv[2]);
await client.enqueueMany(pack, Array.from({ length: count }, (_, n) => ({ n })));
await client.close();
`;

const count = 2_000;
const main = 'node_modules/longshore/local/cli/main.js';
const programs = ['shop-worker:shop-worker-1', 'shop-worker:shop-worker-2', 'shop-urgent:shop-urgent-1'];

let machine: Machine;
let host = '';
let supervisord: Running;
let env: NodeJS.ProcessEnv = {};

/** A release of the shop, with the paths and ports of this test. */
function release(name: string, packages: boolean, broken = false): string {
  const folder = join(host, 'srv/releases', name);
  cpSync(join(machine.folder, 'shop'), folder, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (path) => packages || basename(path) !== 'node_modules',
  });
  for (const path of ['deploy/supervisord.conf', 'deploy/deploy.sh']) {
    const text = readFileSync(join(folder, path), 'utf8')
      .replaceAll('/srv/shop', join(host, 'srv'))
      .replaceAll('/etc/shop', join(host, 'etc'))
      .replaceAll('/var/log/shop', join(host, 'log'))
      .replace(/^user=shop\n/gm, '')
      .replaceAll(/\b94(?=[67])/g, ports);
    writeFileSync(join(folder, path), text);
  }
  if (broken) writeFileSync(join(folder, 'jobs.ts'), jobs.replace('isBroken = false', 'isBroken = true'));
  return folder;
}

/** The beginning of the ports of this run. */
const ports = `${200 + (process.pid % 400)}`;

const control = (line: string) => machine.run(`supervisorctl ${line}`, host, env);

async function pidOf(program: string): Promise<number> {
  return Number((await control(`pid ${program}`)).stdout);
}

/** Each line of the log of the jobs. */
const lines = (): { readonly what: string; readonly n: number; readonly pid: number }[] =>
  readFileSync(join(host, 'jobs.log'), 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [what = '', n, pid] = line.split(' ');
      return { what, n: Number(n), pid: Number(pid) };
    });

async function longshore(line: string): Promise<Record<string, never>> {
  const { stdout } = await machine.run(
    `node --env-file=${join(host, 'etc/worker.env')} ${main} ${line} --json`,
    join(host, 'srv/current'),
  );
  return JSON.parse(stdout);
}

beforeAll(async () => {
  const program = need('supervisord', findProgram('supervisord'), 'supervisor');
  machine = await startMachine();
  const made = await machine.run(
    'npm create longshore@latest shop -- --platform supervisord --backend sqlite',
  );
  expect(made).toMatchObject({ code: 0 });
  const shop = join(machine.folder, 'shop');
  writeFileSync(join(shop, 'jobs.ts'), jobs);
  writeFileSync(join(shop, 'send.ts'), send);
  host = join(machine.folder, 'host');
  for (const folder of ['srv/releases', 'etc', 'log', 'bin'])
    mkdirSync(join(host, folder), { recursive: true });
  writeFileSync(join(host, 'jobs.log'), '');
  const settings = readFileSync(join(shop, 'deploy/worker.env.example'), 'utf8')
    .replace('LONGSHORE_SIGNING_KEYS=', `LONGSHORE_SIGNING_KEYS=k1:${Buffer.alloc(32, 7).toString('base64')}`)
    .replace(/SQLITE_FILE=.*/, `SQLITE_FILE=${join(host, 'jobs.db')}`);
  writeFileSync(join(host, 'etc/worker.env'), `${settings}SHOP_LOG=${join(host, 'jobs.log')}\n`);
  symlinkSync(release('1', true), join(host, 'srv/current'));
  const config = join(host, 'supervisord.conf');
  const socket = join(host, 's.sock');
  writeFileSync(
    config,
    `[supervisord]
nodaemon=true
logfile=${host}/supervisord.log
pidfile=${host}/supervisord.pid
[unix_http_server]
file=${socket}
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://${socket}
[include]
files=${host}/srv/current/deploy/supervisord.conf
`,
  );
  const supervisorctl = need('supervisorctl', findProgram('supervisorctl'), 'supervisor');
  writeFileSync(join(host, 'bin/supervisorctl'), `#!/bin/sh\nexec ${supervisorctl} -c ${config} "$@"\n`, {
    mode: 0o755,
  });
  env = { PATH: [join(host, 'bin'), machine.env.PATH].join(delimiter) };
  supervisord = machine.start(`${program} -c ${config}`, host);
  await until(async () => (await control('status')).stdout.match(/RUNNING/g)?.length === programs.length);
}, 400_000);
afterAll(async () => {
  await supervisord?.stop();
  await machine.end();
}, 60_000);

describe('supervisord, with the written files', () => {
  it('loses no job, and runs none twice that had finished, when a worker is killed and a release is deployed', async () => {
    await machine.run(
      `node --env-file=${join(host, 'etc/worker.env')} send.ts ${count}`,
      join(host, 'srv/current'),
    );
    await until(() => lines().length > 200);
    const killed = await pidOf(programs[0]!);
    const listed = (await longshore('jobs list --status completed --max 10000')) as unknown as {
      readonly jobs: readonly { readonly id: string; readonly attempts: readonly object[] }[];
    };
    expect(listed.jobs.length).toBeGreaterThan(20);
    process.kill(killed, 'SIGKILL');
    await until(async () => /RUNNING/.test((await control(`status ${programs[0]}`)).stdout));
    expect(await pidOf(programs[0]!)).not.toBe(killed);

    const second = release('2', false);
    expect(await machine.run(join(second, 'deploy/deploy.sh'), host, env)).toMatchObject({ code: 0 });
    expect(readFileSync(join(host, 'srv/current/package.json'), 'utf8')).toBe(
      readFileSync(join(second, 'package.json'), 'utf8'),
    );

    const done = await until(async () => {
      const { queues } = (await longshore('status')) as unknown as {
        queues: readonly { ready: number; delayed: number; leased: number; dead: number }[];
      };
      return queues.every(({ ready, delayed, leased }) => ready + delayed + leased === 0) && queues;
    }, 110_000);
    expect(done.every(({ dead }) => dead === 0)).toBe(true);

    const begun = Map.groupBy(
      lines().filter(({ what }) => what === 'begin'),
      ({ n }) => n,
    );
    const ended = new Set(
      lines()
        .filter(({ what }) => what === 'end')
        .map(({ n }) => n),
    );
    expect(ended.size).toBe(count);
    const twice = [...begun.values()].filter((runs) => runs.length > 1);
    // Only jobs that the killed process had in its hands, and had not reported as done, run again.
    expect(twice.length).toBeGreaterThan(0);
    expect(twice.length).toBeLessThanOrEqual(20);
    expect(twice.filter(([first]) => first!.pid !== killed)).toEqual([]);
    const now = (await longshore('jobs list --max 10000')) as unknown as typeof listed;
    const attempts = new Map(now.jobs.map(({ id, attempts }) => [id, attempts.length]));
    expect(listed.jobs.filter(({ id }) => attempts.get(id) !== 1)).toEqual([]);
  }, 200_000);

  it('goes back to the release before when a worker of the new one does not get well', async () => {
    const before = await machine.run('readlink srv/current', host);
    const third = release('3', true, true);
    const { code, stderr } = await machine.run(join(third, 'deploy/deploy.sh'), host, env);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/did not get well within 30 s\. Going back to .*\/2\.\n/),
    ]);
    expect(await machine.run('readlink srv/current', host)).toEqual(before);
  }, 200_000);

  it('drains at a stop, before supervisord kills', async () => {
    await control('stop all');
    const log = readFileSync(join(host, 'supervisord.log'), 'utf8');
    expect(log).not.toMatch(/killing .* with SIGKILL/);
    expect(log).toMatch(/stopped: shop-worker-1 \(exit status 0\)/);
  });
});
