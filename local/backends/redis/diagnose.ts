/** The checks that `longshore doctor` runs on a Redis server. */

import { onDemand } from '../../../core/base/lazy.ts';
import type { Check, DiagnosisRequest, Problem, Severity } from '../../../core/contract/diagnosis.ts';
import { CannotLook, check, checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { keptTooShort } from '../../../core/kit/diagnosis/kept-too-short.ts';
import { isRefused } from './connection.ts';
import { clusterRefusal, type RedisState } from './state.ts';

interface RedisFacts {
  readonly state: RedisState;
  readonly request: DiagnosisRequest;
  /** A line of INFO; undefined = the server does not have it. */
  info(): Promise<(name: string) => string | undefined>;
  setting(name: string): Promise<string>;
}

const fullShare = 0.8;
const veryFullShare = 0.95;

export const redisDiagnosis = (state: RedisState, request: DiagnosisRequest): Check[] =>
  checksOf(redisChecks, {
    state,
    request,
    info: onDemand(async () => {
      const text = await unlessRefused(state.link.send('asking for INFO', ['INFO']), 'INFO', '+info');
      const lines = String(text)
        .split('\r\n')
        .map((line) => line.split(':'));
      const values = new Map(lines.map(([name, ...rest]) => [name!, rest.join(':')]));
      return (name: string) => values.get(name);
    }),
    async setting(name) {
      const answer = state.link.send('asking for its settings', ['CONFIG', 'GET', name]);
      return String(((await unlessRefused(answer, 'CONFIG GET', '+config|get')) as string[])[1] ?? '');
    },
  });

const isCluster = (error: unknown): boolean => (error as Error).message === clusterRefusal;

/** The user may lack the right, or a hosted server may not have the command. */
async function unlessRefused<T>(answer: Promise<T>, command: string, right: string): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (isCluster(error)) throw new CannotLook('the server is part of a Redis Cluster');
    if (isRefused(error)) throw new CannotLook(`this user may not run ${command}: give it ${right}`);
    throw error;
  }
}

const where = 'the Redis server';
const found = (text: string, remedy: string, severity?: Severity): Problem => ({
  where,
  text,
  remedy,
  ...(severity && { severity }),
});

/** A check of the output of INFO. */
const infoCheck = (
  id: string,
  severity: Severity,
  look: (value: (name: string) => string | undefined, facts: RedisFacts) => ReturnType<Check['look']>,
): Check<RedisFacts> => check(id, severity, async (facts) => look(await facts.info(), facts));

export const redisChecks: readonly Check<RedisFacts>[] = [
  infoCheck('redis.eviction', 'error', (value) => {
    const policy = value('maxmemory_policy') ?? 'noeviction';
    if (policy === 'noeviction') return [];
    return found(
      `maxmemory-policy is ${policy}: when its memory is full, it silently deletes jobs.`,
      'Set maxmemory-policy noeviction on the server that holds the queues.',
    );
  }),
  infoCheck('redis.evicted', 'warning', (value) => {
    const keys = Number(value('evicted_keys') ?? 0);
    if (keys === 0) return [];
    return found(
      `It has evicted ${keys} keys since it started, and jobs may be among them.`,
      'Set maxmemory-policy noeviction, give it more memory, and check which enqueued jobs are missing.',
    );
  }),
  infoCheck('redis.memory', 'warning', (value) => {
    const most = Number(value('maxmemory') ?? 0);
    const used = Number(value('used_memory') ?? 0);
    if (most === 0 || used < most * fullShare) return [];
    return found(
      `${Math.round((used / most) * 100)} % of its maxmemory of ${most} bytes is used: when it is full, jobs are refused.`,
      'Raise maxmemory, or keep less: retention, completedBudget and deadBudget of redis().',
      used >= most * veryFullShare ? 'error' : 'warning',
    );
  }),
  infoCheck('redis.persistence', 'error', async (value, { setting }) => {
    if (value('aof_enabled') === '1') return [];
    const save = await setting('save');
    const remedy = 'Set appendonly yes and appendfsync everysec.';
    if (save === '') return found('It writes nothing to disk: a restart loses all jobs.', remedy);
    const since = `appendonly is no, and a snapshot is made by "save ${save}"`;
    return found(`${since}: a crash loses all jobs since the last one.`, remedy, 'warning');
  }),
  infoCheck('redis.fsync', 'warning', async (value, { setting }) => {
    if (value('aof_enabled') !== '1') return []; // redis.persistence tells of it
    const fsync = await setting('appendfsync');
    if (fsync !== 'no') return [];
    return found(
      'appendfsync is no: a power cut loses what the operating system has not written yet, half a minute or more.',
      'Set appendfsync everysec, or always.',
    );
  }),
  infoCheck('redis.disk', 'error', (value) => {
    const failed = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'].filter(
      (name) => (value(name) ?? 'ok') !== 'ok',
    );
    if (failed.length === 0) return [];
    return found(
      `Its last write to disk failed (${failed.join(', ')}): by default it then refuses jobs, and a restart loses some.`,
      "Look at the server's log, and at the space and the owner of its folder.",
    );
  }),
  infoCheck('redis.role', 'error', (value) => {
    if (value('role') !== 'slave') return [];
    const from = `${value('master_host')}:${value('master_port')}`;
    return found(
      `It is a replica of ${from}: it accepts no jobs.`,
      'Name the primary in the URL of redis().',
    );
  }),
  infoCheck('redis.failover', 'note', async (value, { setting }) => {
    if (value('role') === 'slave' || Number(value('connected_slaves') ?? 0) === 0) return [];
    const least = await setting('min-replicas-to-write');
    if (Number(least) > 0) return [];
    return found(
      `It has ${value('connected_slaves')} replicas and waits for none: a failover loses the jobs that they have not received yet.`,
      'Set min-replicas-to-write 1 and min-replicas-max-lag 10, so that a primary that is cut off soon refuses writes.',
    );
  }),
  check('redis.cluster', 'error', async ({ state, info }) => {
    const refused = await state.link.send('asking', ['PING']).then(() => false, isCluster);
    if (!refused && (await info())('cluster_enabled') !== '1') return [];
    return found(
      'It is a Redis Cluster, which redis() does not support: related keys are on different servers.',
      'Use one server with replicas.',
    );
  }),
  infoCheck('redis.connections', 'warning', (value) => {
    const most = Number(value('maxclients') ?? Infinity);
    const used = Number(value('connected_clients') ?? 0);
    if (used < most * fullShare) return [];
    return found(
      `${used} of its ${most} connections are in use: the next workers cannot connect.`,
      'Raise maxclients, or find the clients that hold them with CLIENT LIST.',
    );
  }),
  check('redis.retention', 'note', ({ state, request }) =>
    keptTooShort('redis()', state.retention.completedMs, request),
  ),
];
