/** The files that `init` writes for each platform: parsed, held against the project, and run as plain processes. No container is built here. */

import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { backends, platforms } from '../../local/init/choices.ts';
import { freePort } from '../kit/network/free-port.ts';
import { findProgram, need } from '../kit/servers/programs.ts';
import { until } from '../kit/until.ts';
import { startBeanstalkd } from '../services/beanstalkd/server.ts';
import { freshDatabase } from '../services/postgres/schemas.ts';
import { freshRedis } from '../services/redis/database.ts';
import { cli } from './cli/kit.ts';
import { type Machine, root, startMachine } from './create-kit.ts';

const after: (() => unknown)[] = [];
let machine: Machine;
/** The projects of this file, which share their packages. */
let home = '';
const keys = `k1:${Buffer.alloc(32, 7).toString('base64')}`;

beforeAll(async () => {
  machine = await startMachine();
  home = join(machine.folder, 'projects');
  mkdirSync(home);
  const { devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const names = ['zod', 'pg', '@types/node', '@redis/client', 'prom-client'];
  const dependencies = {
    longshore: 'latest',
    ...Object.fromEntries(names.map((name) => [name, devDependencies[name]])),
  };
  writeFileSync(join(home, 'package.json'), JSON.stringify({ private: true, dependencies }));
  expect(await machine.run('npm install', home)).toMatchObject({ code: 0 });
}, 400_000); // the packages are built first
afterAll(async () => {
  for (const step of after.toReversed()) await step();
  await machine.end();
}, 60_000);

async function makeProject(platform: string, backend: string): Promise<string> {
  const folder = join(home, `${platform}-${backend}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"name":"@acme/shop","type":"module"}');
  symlinkSync('../node_modules', join(folder, 'node_modules'));
  expect(await initialized(folder, platform, backend)).toMatchObject({ code: 0, stderr: '' });
  return folder;
}

/** In this process, because there are many. */
const initialized = (folder: string, platform: string, backend: string) =>
  cli(folder, ['init', '--platform', platform, '--backend', backend]);

const read = (folder: string, path: string): string => readFileSync(join(folder, path), 'utf8');

/** All commands of our image, however deep. */
function commandsIn(value: unknown): string[][] {
  if (typeof value !== 'object' || value === null) return [];
  const { command } = value as { command?: string[] };
  return [...(command?.[0] === 'node' ? [command] : []), ...Object.values(value).flatMap(commandsIn)];
}

/** The words after an instruction of a Dockerfile, as JSON. */
function instruction(dockerfile: string, name: string): string[] {
  const [, words = '[]'] =
    new RegExp(`${name} (?:.*\\\\\\n\\s+CMD )?(\\[.*\\])$`, 'm').exec(dockerfile) ?? [];
  return JSON.parse(words);
}

describe('the files of every platform and backend', () => {
  const pairs = Object.keys(platforms).flatMap((platform) =>
    Object.keys(backends).map((backend) => [platform, backend] as const),
  );
  const refused = (platform: string, backend: string): boolean =>
    (platform === 'kubernetes' && backend === 'sqlite') ||
    (platform === 'aws' && backend !== 'sqs') ||
    (platform === 'azure' && backend !== 'servicebus');

  it('are written, or refused in words', async () => {
    for (const [platform, backend] of pairs) {
      if (!refused(platform, backend)) await makeProject(platform, backend);
      else {
        const { code, stderr } = await initialized(home, platform, backend);
        expect([code, stderr]).toEqual([2, expect.stringContaining('does not work with backend')]);
      }
    }
    expect(readdirSync(home).filter((name) => name.includes('-')).length).toBeGreaterThan(20);
  });

  it('pass one type check', async () => {
    const tsconfig = JSON.parse(read(home, 'docker-sqlite/tsconfig.json'));
    writeFileSync(
      join(home, 'tsconfig.json'),
      JSON.stringify({ ...tsconfig, exclude: ['node_modules', '**/node_modules'] }),
    );
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    expect(await machine.run(`${process.execPath} ${tsc}`, home)).toMatchObject({ code: 0, stdout: '' });
  });

  it('run Node on a file that the project has, and nothing else', () => {
    const projects = readdirSync(home).filter((name) => /^(docker|kubernetes)-/.test(name));
    for (const folder of projects.map((name) => join(home, name))) {
      const yamls = ['compose.yaml', 'deploy/kubernetes.yaml'].filter((path) =>
        existsSync(join(folder, path)),
      );
      const documents = yamls.flatMap((path) => parseAllDocuments(read(folder, path)));
      expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
      const commands = documents.flatMap((document) => commandsIn(document.toJS()));
      expect(commands.length).toBeGreaterThan(0);
      for (const [, file] of [...commands, instruction(read(folder, 'Dockerfile'), 'CMD')])
        expect(existsSync(join(folder, file!))).toBe(true);
      expect(read(folder, '.dockerignore')).toContain('**/.longshore');
    }
  });

  it('stop later than a worker does', () => {
    const longest = 10 + 2; // drainMs, and what a stop may take beyond it
    const { services } = parse(read(home, 'docker-postgres/compose.yaml'));
    expect(Number.parseInt(services.worker.stop_grace_period, 10)).toBeGreaterThan(longest);
    const [deployment] = parseAllDocuments(read(home, 'kubernetes-postgres/deploy/kubernetes.yaml'));
    expect(deployment!.toJS().spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(longest);
    expect(
      Number(/^stopwaitsecs=(\d+)$/m.exec(read(home, 'supervisord-sqlite/deploy/supervisord.conf'))![1]),
    ).toBeGreaterThan(longest);
    expect(
      Number(/^TimeoutStopSec=(\d+)$/m.exec(read(home, 'systemd-sqlite/deploy/shop-worker@.service'))![1]),
    ).toBeGreaterThan(longest);
  });

  it('satisfy systemd, which would complain about a wrong unit', () => {
    const analyze = need('systemd-analyze', findProgram('systemd-analyze'), 'systemd');
    const verify = (...units: readonly string[]) => {
      const { stdout, stderr } = spawnSync(analyze, ['verify', ...units], { encoding: 'utf8' });
      // An unprivileged machine may lack the node that the unit names.
      return `${stdout}${stderr}`
        .split('\n')
        .filter((line) => line !== '' && !line.includes('is not executable'));
    };
    const deploy = join(home, 'systemd-postgres/deploy');
    const units = ['shop-worker@.service', 'shop-urgent@.service'].map((name) => join(deploy, name));
    expect(verify(...units)).toEqual([]);
    const wrong = join(home, 'wrong@.service');
    writeFileSync(wrong, readFileSync(units[0]!, 'utf8').replace('TimeoutStopSec', 'TimeoutStopSeconds'));
    expect(verify(wrong).join('\n')).toContain('TimeoutStopSeconds');
  });

  it('have a deploy script that a shell can read', () => {
    for (const name of ['systemd-sqlite', 'supervisord-sqlite']) {
      const script = join(home, name, 'deploy/deploy.sh');
      expect(statSync(script).mode & 0o111).toBe(0o111);
      execFileSync('sh', ['-n', script]);
    }
  });
});

describe('a container', () => {
  const servers: Readonly<Record<string, () => Promise<Record<string, string>>>> = {
    sqlite: async () => ({}),
    async postgres() {
      const { url, drop } = await freshDatabase();
      after.push(drop);
      return { DATABASE_URL: url };
    },
    redis: async () => ({ REDIS_URL: await freshRedis() }),
    async beanstalkd() {
      const { url, remove } = await startBeanstalkd();
      after.push(remove);
      return { BEANSTALKD_URL: url };
    },
  };

  it.each(Object.keys(servers))(
    'migrates, runs a job, tells its health and drains, on %s',
    async (backend) => {
      const folder = join(home, `docker-${backend}`);
      const dockerfile = read(folder, 'Dockerfile');
      const { services } = parse(read(folder, 'compose.yaml'));
      const address = await servers[backend]!();
      // Nothing else is set in the network of compose.yaml.
      const names = Object.keys(services.worker.environment ?? services.migrate.environment);
      expect(names.sort()).toEqual([...Object.keys(address), 'LONGSHORE_SIGNING_KEYS'].sort());
      const env = { ...address, LONGSHORE_SIGNING_KEYS: keys, NODE_ENV: 'production' };
      const port = `${await freePort()}`;
      const onPort = (words: readonly string[]) => words.map((word) => word.replace('9464', port));
      const health = () => {
        const [program = '', ...args] = onPort(instruction(dockerfile, 'HEALTHCHECK'));
        return spawnSync(program, args, { env: machine.env }).status;
      };
      expect(await machine.run(services.migrate.command.join(' '), folder, env)).toMatchObject({ code: 0 });
      expect(health()).toBe(1);
      const worker = machine.start(onPort(instruction(dockerfile, 'CMD')).join(' '), folder, env);
      await until(() => health() === 0);
      expect(await machine.run('node enqueue.ts Grace', folder, env)).toMatchObject({ code: 0 });
      await worker.seen(/hello Grace/);
      worker.child.kill('SIGTERM'); // as Docker does: to the first process alone
      await worker.seen(/worker stopped|stopped/);
      expect(await worker.ended).toBe(0);
      expect(health()).toBe(1);
    },
  );

  it('of Kubernetes answers its probes without a key, and shows numbers with one only', async () => {
    const folder = join(home, 'kubernetes-redis');
    const [deployment] = parseAllDocuments(read(folder, 'deploy/kubernetes.yaml'));
    const { containers } = deployment!.toJS().spec.template.spec;
    const { command, ports, livenessProbe } = containers[0];
    expect(livenessProbe.httpGet.port).toBe(ports[0].name);
    const port = await freePort();
    const line = command.join(' ').replace(`${ports[0].containerPort}`, `${port}`);
    const env = {
      REDIS_URL: await freshRedis(),
      LONGSHORE_SIGNING_KEYS: keys,
      LONGSHORE_METRICS_KEY: 'a'.repeat(64),
      KUBERNETES_SERVICE_HOST: '10.0.0.1',
    };
    const worker = machine.start(line, folder, env);
    const get = (path: string, headers: Record<string, string> = {}) =>
      fetch(`http://127.0.0.1:${port}${path}`, { headers }).then(
        ({ status }) => status,
        () => null,
      );
    await until(async () => (await get(livenessProbe.httpGet.path)) === 200);
    expect(await get('/metrics')).toBe(401);
    expect(await get('/metrics', { authorization: `Bearer ${env.LONGSHORE_METRICS_KEY}` })).toBe(200);
    await worker.stop();
  });
});

describe('the scaler of KEDA', () => {
  const triggerOf = (backend: string) => {
    const [, scaled] = parseAllDocuments(read(home, `kubernetes-${backend}/deploy/kubernetes.yaml`));
    return scaled!.toJS().spec.triggers[0];
  };
  const enqueue = (backend: string, env: Record<string, string>) =>
    machine.run('node enqueue.ts', join(home, `kubernetes-${backend}`), {
      LONGSHORE_SIGNING_KEYS: keys,
      ...env,
    });

  it('of Postgres counts the jobs with its query', async () => {
    const { url, drop } = await freshDatabase();
    after.push(drop);
    await enqueue('postgres', { DATABASE_URL: url });
    const { query } = triggerOf('postgres').metadata;
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query({ text: query, rowMode: 'array' });
    await client.end();
    expect(rows).toEqual([[1]]);
  });

  it('of Redis counts the sorted set that it names, by the script of KEDA', async () => {
    const url = await freshRedis();
    await enqueue('redis', { REDIS_URL: url });
    const client = await createClient({ url }).connect();
    const { listName } = triggerOf('redis').metadata;
    expect([await client.type(listName), await client.zCard(listName)]).toEqual(['zset', 1]);
    await client.close();
  });

  it('of beanstalkd reads the tube that it names', async () => {
    const server = await startBeanstalkd();
    after.push(server.remove);
    const database = await freshDatabase();
    after.push(database.drop);
    const env = { BEANSTALKD_URL: server.url, DATABASE_URL: database.url };
    expect(await enqueue('beanstalkd', env)).toMatchObject({ code: 0 });
    const { tube } = triggerOf('beanstalkd').metadata;
    const line = await server.connection();
    const { data } = await line.send(`stats-tube ${tube}`);
    expect(`${data}`).toContain('current-jobs-ready: 1\n');
  });
});
