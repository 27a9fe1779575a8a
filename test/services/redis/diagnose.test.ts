/** What `longshore doctor` finds in a real Redis: each check fires where it should, and says nothing of a server that is right. */

import { rm } from 'node:fs/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Problem } from '../../../core/contract/diagnosis.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { type RedisOptions, redis } from '../../../local/backends/redis/index.ts';
import { until } from '../../kit/until.ts';
import { lookedAt, request } from '../diagnoses.ts';
import { type RedisServer, startRedis } from './server.ts';

let server: RedisServer;
const opened: QueueBackend[] = [];
beforeAll(async () => {
  server = await startRedis({ appendOnly: true });
});
afterEach(async () => {
  for (const backend of opened.splice(0)) await backend.close();
});
afterAll(() => server.remove());

function diagnosisOf(options: Partial<RedisOptions> = {}, keysKeptMs = 0) {
  const backend = redis({ url: server.url, ...options });
  opened.push(backend);
  return lookedAt(backend.admin!, request({ keysKeptMs }));
}

/** With these settings, which are set back afterwards. */
async function withSettings(settings: Record<string, string>): Promise<Record<string, readonly Problem[]>> {
  const before: [string, string][] = [];
  for (const [name, value] of Object.entries(settings)) {
    const answer = (await server.command('CONFIG', 'GET', name)) as string[];
    before.push([name, answer[1]!]);
    await server.command('CONFIG', 'SET', name, value);
  }
  try {
    return (await diagnosisOf()).found;
  } finally {
    for (const [name, value] of before) await server.command('CONFIG', 'SET', name, value);
  }
}

describe('a Redis server', () => {
  it('that is set up for jobs is told nothing, and every check is made', async () => {
    expect(await diagnosisOf()).toEqual({ found: {}, notChecked: {} });
  });

  it.each([
    [{ 'maxmemory-policy': 'allkeys-lru' }, 'redis.eviction', /maxmemory-policy is allkeys-lru/],
    [{ appendonly: 'no' }, 'redis.persistence', /writes nothing to disk/],
    [{ appendonly: 'no', save: '3600 1' }, 'redis.persistence', /a snapshot is made by "save 3600 1"/],
    [{ appendfsync: 'no' }, 'redis.fsync', /appendfsync is no/],
  ])('with %o is told so', async (settings, id, text) => {
    const found = await withSettings(settings as unknown as Record<string, string>);
    expect(found).toEqual({ [id]: [expect.objectContaining({ text: expect.stringMatching(text) })] });
  });

  it('whose memory is nearly full is told so, as an error when it is worse', async () => {
    const info = String(await server.command('INFO', 'memory'));
    const used = Number(/used_memory:(\d+)/.exec(info)![1]);
    const warned = await withSettings({ maxmemory: `${Math.round(used * 1.15)}` });
    expect(warned['redis.memory']).toEqual([expect.objectContaining({ severity: 'warning' })]);
    const found = await withSettings({ maxmemory: `${Math.round(used * 1.01)}` });
    expect(found['redis.memory']).toEqual([expect.objectContaining({ severity: 'error' })]);
  });

  it('that keeps records for less long than keys is told so', async () => {
    const { found } = await diagnosisOf({ retention: { completedMs: 3_600_000 } }, 86_400_000);
    expect(found['redis.retention']).toEqual([
      expect.objectContaining({ text: expect.stringMatching(/readable for 1 h, .* refuse copies for 24 h/) }),
    ]);
    expect((await diagnosisOf({}, 86_400_000)).found).toEqual({});
  });

  it('whose user may ask for nothing is said not to be checked', async () => {
    await server.command('ACL', 'SETUSER', 'jobs', 'on', '>secret', '~*', '&*', '+@all', '-info', '-config');
    const url = `redis://jobs:secret@127.0.0.1:${server.port}`;
    const { found, notChecked } = await diagnosisOf({ url });
    expect(found).toEqual({});
    expect(notChecked).toMatchObject({ 'redis.eviction': /\+info/, 'redis.cluster': /\+info/ });
    await server.command('ACL', 'SETUSER', 'jobs', '+info');
    const { notChecked: settings } = await diagnosisOf({ url });
    expect(Object.keys(settings)).toEqual(['redis.fsync']);
  });
});

describe('a Redis server of its own', () => {
  async function on(settings: Record<string, string>, work: (own: RedisServer) => Promise<void>) {
    const own = await startRedis({ appendOnly: true, settings });
    try {
      await work(own);
    } finally {
      await own.remove();
    }
  }
  const foundOn = async (own: RedisServer) => (await diagnosisOf({ url: own.url })).found;

  it('that has thrown keys away is told so', () =>
    on({ 'maxmemory-policy': 'allkeys-random', maxmemory: '3mb' }, async (own) => {
      for (let i = 0; i < 40; i++) await own.command('SET', `k${i}`, 'x'.repeat(100_000));
      expect(await foundOn(own)).toMatchObject({
        'redis.evicted': [{ text: expect.stringMatching(/^It has evicted \d+ keys/) }],
      });
    }));

  it('that cannot write to its disk is told so', () =>
    on({}, async (own) => {
      await rm(own.folder, { recursive: true });
      await own.command('BGSAVE');
      await until(async () => /rdb_last_bgsave_status:err/.test(String(await own.command('INFO'))));
      expect(await foundOn(own)).toMatchObject({
        'redis.disk': [{ text: expect.stringMatching(/rdb_last_bgsave_status/) }],
      });
    }));

  it('that is a replica is told so, and its primary that it waits for none', () =>
    on({}, async (own) => {
      const { password } = new URL(server.url);
      await own.command('CONFIG', 'SET', 'masterauth', password);
      await own.command('REPLICAOF', '127.0.0.1', `${server.port}`);
      await until(async () => /connected_slaves:1/.test(String(await server.command('INFO'))));
      expect(await foundOn(own)).toMatchObject({
        'redis.role': [{ text: `It is a replica of 127.0.0.1:${server.port}: it accepts no jobs.` }],
      });
      expect((await diagnosisOf()).found).toMatchObject({
        'redis.failover': [{ text: expect.stringMatching(/1 replicas/) }],
      });
      expect(await withSettings({ 'min-replicas-to-write': '1' })).toEqual({});
    }));

  it('whose connections are nearly used up is told so', () =>
    on({ maxclients: '2' }, async (own) => {
      expect(await foundOn(own)).toEqual({});
      expect(await foundOn(own)).toMatchObject({
        'redis.connections': [{ text: expect.stringMatching(/^2 of its 2 connections are in use/) }],
      });
    }));

  it('that is part of a cluster is told so', () =>
    on({ 'cluster-enabled': 'yes' }, async (own) => {
      expect(await foundOn(own)).toEqual({
        'redis.cluster': [expect.objectContaining({ text: expect.stringContaining('Redis Cluster') })],
      });
    }));
});
