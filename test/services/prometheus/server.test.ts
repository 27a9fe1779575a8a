/** A real Prometheus with the example of a config and the alerts reads a real worker. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cli, root, secret, shopConfig } from '../../e2e/cli/kit.ts';
import { projects } from '../../e2e/cli/spawned.ts';
import { type OwnServer, ownServer, started } from '../../kit/servers/server.ts';
import { until } from '../../kit/until.ts';
import { prometheus } from './programs.ts';
import { monitoring, readRules, rulesFile } from './promql.ts';

const key = 'prometheus.0123456789abcdef0123456789';
const project = projects();
let folder: string;
let server: OwnServer;
let worker: ReturnType<typeof spawn>;

/** Resolves with where it serves its metrics. */
async function startWorker(cwd: string): Promise<string> {
  const line = 'work --no-schedules --metrics-port 0 --log none';
  const env = { ...process.env, LONGSHORE_SIGNING_KEYS: `first:${secret}`, LONGSHORE_METRICS_KEY: key };
  const args = [join(root, 'local/cli/main.ts'), ...line.split(' ')];
  worker = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  worker.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  return until(() => /Metrics are at (http:\S+)\n/.exec(said)?.[1]);
}

async function startPrometheus(target: string): Promise<OwnServer> {
  const config = join(mkdtempSync(join(tmpdir(), 'longshore-prometheus-')), 'prometheus.yml');
  const data = join(config, '..');
  return ownServer(
    data,
    async () => {
      copyFileSync(rulesFile, join(data, 'longshore.rules.yml'));
      writeFileSync(join(data, 'longshore-metrics-key'), key);
      const example = readFileSync(join(monitoring, 'prometheus.yml'), 'utf8')
        .replace('127.0.0.1:9464', target)
        .replace(/# (authorization:| {2}credentials_file:)/g, '$1')
        .replaceAll('15s', '1s');
      writeFileSync(config, example);
    },
    async (port) => {
      const options = {
        'config.file': config,
        'storage.tsdb.path': join(data, 'data'),
        'web.listen-address': `127.0.0.1:${port}`,
      };
      const args = Object.entries(options).map(([name, value]) => `--${name}=${value}`);
      // Detached: Ctrl-C must reach the tests only, which then stop the server.
      const child = spawn(prometheus(), args, { detached: true, stdio: ['ignore', 'ignore', 'pipe'] });
      return started('Prometheus', child, child.stderr, /Server is ready to receive web requests/);
    },
  );
}

async function api<T>(path: string): Promise<T> {
  const answer = await fetch(`http://127.0.0.1:${server.port}/api/v1/${path}`);
  return ((await answer.json()) as { data: T }).data;
}

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** What a query answers, once it answers with this value. */
const answered = (promql: string, value: string) =>
  until(async () => {
    const { result } = await api<{ result: readonly Sample[] }>(`query?query=${encodeURIComponent(promql)}`);
    return result.find((one) => one.value[1] === value)?.metric;
  });

beforeAll(async () => {
  folder = project({ 'longshore.config.ts': shopConfig });
  const url = new URL(await startWorker(folder));
  server = await startPrometheus(url.host);
});

afterAll(async () => {
  await server?.remove('SIGKILL');
  if (worker?.exitCode !== null) return;
  worker.kill('SIGTERM');
  await once(worker, 'exit');
});

describe('Prometheus', () => {
  it('reads the counters of a worker, and keeps the name of the job', async () => {
    for (let i = 0; i < 3; i++) await cli(folder, ['enqueue', 'greet', '{"name":"Ada"}']);
    const done = await answered('queue_jobs_processed_total{outcome="acked",job="greet"}', '3');
    expect(done).toMatchObject({
      queue: 'default',
      job: 'greet',
      instance: expect.stringContaining('127.0.0.1:'),
    });
    await answered('sum(queue_job_duration_seconds_count)', '3');
  });

  it('reads what waits in the queue', async () => {
    expect(await answered('queue_up', '1')).toMatchObject({ backend: 'sqlite', job: 'longshore' });
    await cli(folder, ['enqueue', 'greet', '{"name":"Ada"}', '--delay', '1h']);
    await answered('max by (queue, status) (queue_depth{queue="default",status="delayed"})', '1');
    await answered('workers{status="healthy"}', '1');
  });

  it('sees a failure that was the first of its kind', async () => {
    await answered('sum(queue_jobs_dead_lettered_total)', '0');
    await cli(folder, ['enqueue', 'mail.send', '{"to":"nobody"}']);
    await answered('sum by (job, reason) (queue_jobs_dead_lettered_total{reason="permanent"})', '1');
    await answered('sum(increase(queue_jobs_dead_lettered_total[1h])) > bool 0', '1');
  });

  it('evaluates every alert', async () => {
    const rules = await until(async () => {
      const { groups } = await api<{
        groups: { rules: { name: string; health: string; lastError?: string }[] }[];
      }>('rules');
      const all = groups.flatMap((group) => group.rules);
      return all.length > 0 && all.every(({ health }) => health !== 'unknown') && all;
    });
    expect(rules.map(({ name, health, lastError }) => [name, health, lastError])).toEqual(
      readRules().map(({ alert }) => [alert, 'ok', undefined]),
    );
  });
});
