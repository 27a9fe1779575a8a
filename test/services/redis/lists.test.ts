/** Lists of more jobs than one call may read. */

import { beforeAll, describe, expect, it } from 'vitest';
import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import type { JobRecord, RecordFilter } from '../../../core/contract/store.ts';
import { cursorOf } from '../../../core/kit/records/filter.ts';
import { message } from '../sqlite/messages.ts';
import { callsOf, open, server, take } from './kit.ts';

const backlog = 12_000;
/** What a call may read: jobs that may match, and jobs for a page with what a script reads of each. */
const mostReads = 10_400 + 2 * 1_400;

describe('a list of a long backlog', () => {
  let prefix: string;
  const opened = () => open({ prefix }).backend;
  const ids: string[] = [];

  beforeAll(async () => {
    const { backend, prefix: own } = open();
    prefix = own;
    const priorities = [0, 5, 5, 9];
    const rare: Record<number, Partial<OutgoingMessage>> = {
      100: { job: 'rare', facts: { schedule: 'nightly' } },
      // Only what stands in front of the body counts.
      101: { body: JSON.stringify({ job: 'rare', tenantId: 'acme', schedule: 'nightly' }) },
      9000: { job: 'rare', tenantId: 'acme' },
    };
    const jobs = Array.from({ length: backlog }, (_, n) => {
      const queue = n % 4 === 3 ? 'other' : 'default';
      return message({ id: `id-${n}`, queue, priority: priorities[n % 4]!, ...rare[n] });
    });
    await backend.enqueue(jobs);
    ids.push(...jobs.map(({ id }) => id));
  });

  async function walk(filter: RecordFilter, between: (page: number) => Promise<unknown> = async () => {}) {
    const { records } = opened().stores!;
    const found: JobRecord[] = [];
    for (let after: string | undefined, page = 1; ; page++) {
      const before = await callsOf('hget');
      const { records: some, next } = await records.page({
        ...filter,
        ...(after !== undefined && { after }),
      });
      expect((await callsOf('hget')) - before).toBeLessThanOrEqual(mostReads);
      found.push(...some);
      if (next === null) return found.map(({ id }) => id);
      await between(page);
      after = next;
    }
  }

  it('has each job on one page, and reads few of them per page', async () => {
    const listed = await walk({ max: 700 });
    expect(listed.length).toBe(backlog);
    expect(new Set(listed)).toEqual(new Set(ids));
  });

  it('goes on where few jobs match, until all have been looked at', async () => {
    expect(await walk({ idPrefix: 'id-11' })).toHaveLength(1 + 10 + 100 + 1_000);
    expect(await walk({ job: 'nothing' })).toEqual([]);
    expect(await walk({ job: 'rare' })).toEqual(['id-9000', 'id-100']);
    expect(await walk({ tenantId: 'acme' })).toEqual(['id-9000']);
    expect(await walk({ schedule: 'nightly' })).toEqual(['id-100']);
  });

  it('refuses a cursor that it cannot have given', async () => {
    const positions = (value: unknown) => cursorOf('~', JSON.stringify(value));
    const inNoOrder = positions({ 'ready:default': ['soon', 'id', '~'] });
    for (const after of [inNoOrder, positions(null), positions({ 'ready:default': ['1'] })])
      await expect(opened().stores!.records.page({ after })).rejects.toMatchObject({ code: 'OPTION' });
  });

  it('has each job that stays once, whatever comes and ends meanwhile', async () => {
    const backend = opened();
    const ended = new Set<string>();
    const listed = await walk({ status: 'pending', max: 700 }, async (page) => {
      await backend.enqueue([message({ id: `late-${page}` })]);
      const leases = await backend.fetch({ ...take, max: 50 });
      for (const { token } of leases) ended.add(token.slice(24));
      await backend.ack(leases.map((lease) => ({ lease })));
    });
    const stayed = ids.filter((id) => !ended.has(id));
    const times = new Map<string, number>();
    for (const id of listed) times.set(id, (times.get(id) ?? 0) + 1);
    expect(stayed.filter((id) => times.get(id) !== 1)).toEqual([]);
  });

  it('shows the few that wait for a retry on its first page', async () => {
    const backend = opened();
    const [lease] = await backend.fetch({ ...take, max: 1 });
    await backend.nack(lease!, { delayMs: 60_000, countAttempt: true });
    const found = (await backend.stores!.records.page({ status: 'retrying' })).records;
    expect(found.map(({ id }) => id)).toEqual([lease!.token.slice(24)]);
  });
});

it('a job without facts is stored as it was before there were any', async () => {
  const { backend, prefix } = open();
  await backend.enqueue([
    message({ id: 'plain' }),
    message({ id: 'scheduled', facts: { schedule: 'nightly' } }),
  ]);
  const textOf = async (id: string) =>
    String(await server.command('HGET', `${prefix}:{default}:jobs`, id)).split('\n')[1];
  expect(await textOf('plain')).toBe(JSON.stringify([message({ id: 'plain' }).job]));
  expect(JSON.parse((await textOf('scheduled'))!)).toEqual([
    message({ id: 'told' }).job,
    null,
    { schedule: 'nightly' },
  ]);
});
