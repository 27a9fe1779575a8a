/** What something else has written over: the rest must stay usable, and people must learn of it. */

import { beforeEach, describe, expect, it } from 'vitest';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { until } from '../../kit/until.ts';
import { many, open, server, take } from './kit.ts';

let backend: QueueBackend;
let prefix: string;
let warnings: string[];
beforeEach(async () => {
  ({ backend, prefix } = open());
  warnings = [];
  backend.onWarning!((text) => warnings.push(text));
  await backend.enqueue(many(3));
});

const idsOf = (list: readonly { readonly id: string }[]): string[] => list.map(({ id }) => id);
const overwrite = (part: string, id: string) =>
  server.command('HSET', `${prefix}:{default}:${part}`, id, 'no text of ours');

describe('a job that cannot be read', () => {
  beforeEach(() => overwrite('jobs', 'id-1'));

  it('is left out of lists, and named by a warning', async () => {
    expect(idsOf((await backend.stores!.records.page({})).records)).toEqual(['id-2', 'id-0']);
    expect(idsOf(await backend.admin!.peek!('default', 10))).toEqual(['id-0', 'id-2']);
    expect(warnings).toEqual([
      expect.stringMatching(/^Jobs "id-1" in queue "default" cannot be read from Redis/),
    ]);
  });

  it('is an error where it is asked for', async () => {
    const { records } = backend.stores!;
    await expect(records.get('id-1')).rejects.toMatchObject({ code: 'CORRUPT' });
    expect(await records.get('id-2')).toMatchObject({ id: 'id-2', status: 'pending' });
  });
});

describe('a job whose past cannot be read', () => {
  it('begins anew when it is fetched', async () => {
    await overwrite('states', 'id-1');
    const leases = await backend.fetch(take);
    expect(leases.map(({ attempt, interrupted }) => [attempt, interrupted])).toEqual(
      Array(3).fill([1, false]),
    );
  });

  it.each(['nack', 'reap'])('loses it, and not itself, at a %s', async (verb) => {
    const leases = await backend.fetch({ ...take, leaseMs: verb === 'reap' ? 1 : take.leaseMs });
    await overwrite('states', 'id-1');
    if (verb === 'nack')
      for (const lease of leases) await backend.nack(lease, { delayMs: 0, countAttempt: true });
    else await until(async () => (await backend.reapExpired('default')) > 0);
    const again = await backend.fetch(take);
    expect(again.map(({ attempt }) => attempt)).toEqual([2, 2, 2]);
  });
});

describe('a dead letter that cannot be read', () => {
  it('is left out of lists, named by a warning, and can be discarded', async () => {
    for (const lease of await backend.fetch(take))
      await backend.abandon(lease, { reason: 'permanent', error: 'HANDLER: no' });
    await overwrite('ended', 'id-1');
    const { deadLetters } = backend.admin!;
    expect(idsOf(await deadLetters.list({})).sort()).toEqual(['id-0', 'id-2']);
    expect(warnings).toEqual([expect.stringContaining('"id-1"')]);
    expect(await deadLetters.retry(['id-1'])).toBe(0); // there is nothing to run
    expect(await deadLetters.discard(['id-1'])).toBe(1);
    expect(await deadLetters.list({})).toHaveLength(2);
    expect(warnings).toHaveLength(1);
  });
});
