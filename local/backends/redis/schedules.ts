import { randomUUID } from 'node:crypto';
import type { ScheduleStore, StoredSchedule } from '../../../core/contract/schedules.ts';
import { scripts } from './scripts.ts';
import type { RedisState } from './state.ts';

/** Lua unpacks some 8,000 values at most, and while a script runs the server does nothing else. */
const mostPerCall = 1_000;

export function redisSchedules({ link, prefix }: Pick<RedisState, 'link' | 'prefix'>): ScheduleStore {
  const base = `${prefix}:{schedules}`;
  const call = (during: string, args: readonly string[]): Promise<unknown> =>
    link.run(during, scripts.schedules, base, args);

  async function read(action: 'list' | 'due', from: string, max: number): Promise<StoredSchedule[]> {
    const most = `${Math.min(max, mostPerCall)}`;
    const pairs = (await call('reading schedules', [action, from, most])) as string[];
    return pairs.flatMap((name, i) => (i % 2 === 0 ? storedOf(name, pairs[i + 1]!) : []));
  }

  return {
    async get(name) {
      const text = (await link.send('reading schedules', ['HGET', `${base}:rows`, name])) as string | null;
      return text === null ? null : storedOf(name, text);
    },
    async write({ name, nextAt, text }, over) {
      const when = nextAt === null ? '' : `${Math.ceil(nextAt)}`;
      const row = `${randomUUID()}${when}\n${text}`;
      return (await call('writing a schedule', ['write', name, when, row, over ?? ''])) === 1;
    },
    remove: async (name) => (await call('removing a schedule', ['remove', name])) === 1,
    async list({ after = '', max }) {
      const found: StoredSchedule[] = [];
      for (let from = after; found.length < max; from = found.at(-1)!.name) {
        const some = await read('list', from, max - found.length);
        found.push(...some);
        if (some.length === 0) break;
      }
      return found;
    },
    due: (until, max) => read('due', `${Math.floor(until)}`, max),
  };
}

const versionLength = 36;

function storedOf(name: string, row: string): StoredSchedule {
  const end = row.indexOf('\n');
  const when = row.slice(versionLength, end);
  return {
    name,
    nextAt: when === '' ? null : Number(when),
    text: row.slice(end + 1),
    version: row.slice(0, versionLength),
  };
}
