/** Migrates the data of version 0.1 to texts. Loaded only for a server that has such data. */

import type { Clock } from '../../../core/base/clock.ts';
import type { AuditEntry } from '../../../core/contract/derived/audit.ts';
import type { MetricStep } from '../../../core/contract/derived/metrics.ts';
import type { WorkerBeat } from '../../../core/contract/store.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import type { RedisClient } from './connection.ts';
import { redisTexts } from './texts.ts';

/** If a process dies during the migration, the others continue after this time. */
const holdMs = 10_000;
const pollMs = 100;

/** One process migrates; the others wait for it when they connect. @param isDone called repeatedly */
export async function migrate(
  client: RedisClient,
  prefix: string,
  clock: Clock,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const send = (...args: readonly string[]) => client.sendCommand(args) as Promise<never>;
  const lock = `${prefix}:migrating`;
  while (!(await isDone())) {
    if ((await send('SET', lock, '1', 'NX', 'PX', `${holdMs}`)) === null) {
      await new Promise((resolve) => setTimeout(resolve, pollMs));
      continue;
    }
    if (!(await isDone())) await toTexts(send, prefix, clock, () => send('PEXPIRE', lock, `${holdMs}`));
    await send('SET', `${prefix}:version`, '2');
    await send('DEL', lock);
  }
}

/** Leaves texts that exist already: a process that died has migrated them. */
async function toTexts(
  send: (...args: readonly string[]) => Promise<never>,
  prefix: string,
  clock: Clock,
  hold: () => Promise<unknown>,
): Promise<void> {
  const link = {
    send: (_: string, args: readonly string[]) => send(...args),
    run: (_: string, { text }: { text: string }, key: string, args: readonly string[]) =>
      send('EVAL', text, '1', key, ...args),
  };
  const stores = storesOf(redisTexts({ link, prefix }), clock);
  /** Reads a hash as pairs of name and value. */
  async function pairsAt(key: string): Promise<[string, string][]> {
    const all = (await send('HGETALL', key)) as string[];
    return all.flatMap((name, i) => (i % 2 === 0 ? [[name, all[i + 1]!] as [string, string]] : []));
  }

  const [schedules, audit, workers] = ['schedules', 'audit', 'workers'].map((what) => `${prefix}:{${what}}`);
  for (const [name, row] of await pairsAt(`${schedules}:rows`)) {
    const end = row.indexOf('\n');
    const when = row.slice(36, end);
    await stores.schedules.write(
      { name, nextAt: when === '' ? null : Number(when), text: row.slice(end + 1) },
      null,
    );
  }
  await send('UNLINK', ...['rows', 'due', 'names'].map((part) => `${schedules}:${part}`));
  for (const [, beat] of await pairsAt(`${workers}:beats`))
    await stores.workers.heartbeat(JSON.parse(beat) as WorkerBeat);
  await send('UNLINK', ...['beats', 'seen', 'drain'].map((part) => `${workers}:${part}`));
  for (const [, entry] of await pairsAt(`${audit}:entries`)) {
    await stores.audit.append(JSON.parse(entry) as AuditEntry);
    await hold();
  }
  await send('UNLINK', ...['order', 'entries'].map((part) => `${audit}:${part}`));
  for (const step of ['minute', 'hour', 'day'] as const satisfies MetricStep[]) {
    const moments = `${prefix}:{metrics}:${step}`;
    for (const at of (await send('ZRANGE', moments, '0', '-1')) as string[]) {
      const rows = (await pairsAt(`${moments}:${at}`)).map(([field, body]) => {
        const [, queue, job, source] = /^(.*?) (.*?) (.*)$/s.exec(field)!;
        return { step, at: Number(at), queue: queue!, job: job!, source: source!, body };
      });
      await stores.metrics.write(rows);
      await send('UNLINK', `${moments}:${at}`);
      await hold();
    }
    await send('UNLINK', moments);
  }
  const match = `${prefix.replace(/[*?[\]\\]/g, '\\$&')}:steps:*`;
  for (let cursor = '0'; ; ) {
    const [next, keys] = (await send('SCAN', cursor, 'MATCH', match, 'COUNT', '1000')) as [string, string[]];
    for (const key of keys) {
      const [text] = (await send('HMGET', key, 'text')) as (string | null)[];
      const leftMs = Number(await send('PTTL', key));
      const name = key.slice(`${prefix}:steps:`.length);
      if (text != null) await stores.steps.write(name, text, null, clock.now() + Math.max(1, leftMs));
      await send('UNLINK', key);
    }
    await hold();
    cursor = next;
    if (cursor === '0') break;
  }
}
