/**
 * The ceiling: a list of ids, a hash of bodies and a sorted set of what is in flight, so that the jobs of a worker that dies come
 * back. One script deletes the last batch and leases the next.
 */

import { createHash } from 'node:crypto';
import { RedisClient } from '@redis/client';
import { bodies } from '../kit/app.ts';
import type { Opened, Place } from '../kit/contender.ts';

interface RawOptions {
  /** Jobs per call. @default as many as there are slots */
  readonly batch?: number;
  /** PUBLISH each job. */
  readonly notify?: boolean;
}

const sendScript = `
local ids, bodies = {}, {}
for i = 2, #ARGV, 2 do
  ids[#ids + 1] = ARGV[i]
  bodies[i - 1], bodies[i] = ARGV[i], ARGV[i + 1]
end
redis.call('HSET', KEYS[1] .. 'bodies', unpack(bodies))
redis.call('RPUSH', KEYS[1] .. 'ready', unpack(ids))
if ARGV[1] ~= '' then redis.call('PUBLISH', ARGV[1], '') end`;

const workScript = `
local done = {}
for i = 3, #ARGV do done[i - 2] = ARGV[i] end
if #done > 0 then
  redis.call('ZREM', KEYS[1] .. 'leases', unpack(done))
  redis.call('HDEL', KEYS[1] .. 'bodies', unpack(done))
end
local ids = redis.call('LPOP', KEYS[1] .. 'ready', ARGV[2])
if not ids then return {} end
local leases = {}
for i, id in ipairs(ids) do leases[2 * i - 1], leases[2 * i] = ARGV[1], id end
redis.call('ZADD', KEYS[1] .. 'leases', unpack(leases))
return { ids, redis.call('HMGET', KEYS[1] .. 'bodies', unpack(ids)) }`;

const sha = (text: string): string => createHash('sha1').update(text).digest('hex');
const [sendSha, workSha] = [sha(sendScript), sha(workScript)];

export const raw =
  ({ batch, notify = false }: RawOptions) =>
  async ({ url, schema }: Place): Promise<Opened> => {
    const client = new RedisClient({ url, RESP: 2, commandOptions: { timeout: 0 } });
    await client.connect();
    for (const script of [sendScript, workScript]) await client.sendCommand(['SCRIPT', 'LOAD', script]);
    const bodyOf = await bodies();
    const key = `${schema}:`;
    const channel = notify ? `${schema}:jobs` : '';
    const send = (parts: string[]) => client.sendCommand(['EVALSHA', sendSha, '1', key, channel, ...parts]);
    const lease = async (done: readonly string[], max: number) => {
      const until = `${Date.now() + 30_000}`;
      const call = ['EVALSHA', workSha, '1', key, until, `${max}`, ...done];
      const [ids = [], bodies = []] = (await client.sendCommand(call)) as unknown as string[][];
      return { ids, bodies };
    };

    return {
      sendOne: (n, at) => send([`${n}`, bodyOf(n, at)]),
      sendMany: (from, count) =>
        send(Array.from({ length: count }, (_, i) => [`${from + i}`, bodyOf(from + i, 0)]).flat()),
      async work({ concurrency, count, only }, watch) {
        const max = batch ?? concurrency;
        let ran = 0;
        let done: string[] = [];
        watch.start();
        do {
          const { ids } = await lease(done, only ? Math.min(max, count - ran) : max);
          done = ids;
          ran += ids.length;
        } while (done.length > 0);
        watch.stop();
        return ran;
      },
      async listen(handle) {
        const listener = client.duplicate();
        await listener.connect();
        let working = Promise.resolve();
        const takeAll = async (): Promise<void> => {
          let done: string[] = [];
          do {
            const { ids, bodies } = await lease(done, 10);
            for (const body of bodies) handle((JSON.parse(body) as { at: number }).at);
            done = ids;
          } while (done.length > 0);
        };
        await listener.subscribe(channel, () => {
          working = working.then(takeAll);
        });
        return async () => {
          await working;
          listener.destroy();
        };
      },
      close: () => client.close(),
    };
  };
