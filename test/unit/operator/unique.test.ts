/** Unique jobs of schedules and of operators. */

import { describe, expect, it } from 'vitest';
import { tick } from '../../../core/features/schedules/feature.ts';
import { defineSchedule } from '../../../core/kernel/app/schedule.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { job } from '../core/kit.ts';
import { operatorBench } from './kit.ts';

const work = job({ unique: { key: () => 'k', during: 'waiting' } });

describe('a unique job', () => {
  it('is enqueued by a schedule once while it waits', async () => {
    const schedules = [defineSchedule({ name: 'often', everyMs: 1_000, job: work, payload: {} })];
    const { app, client, clock, drain, backend } = operatorBench({ jobs: [work], schedules });
    const ids: string[] = [];
    for (let i = 0; i < 4; i++) {
      ids.push(...(await tick(app, client)));
      clock.advance(1_000);
      if (i === 2) await drain();
    }
    expect(new Set(ids).size).toBe(2);
    expect(ids).toHaveLength(3);
    expect(await backend.admin!.stats('default')).toMatchObject([{ ready: 1 }]);
  });

  it('is not run again while one waits, and the audit log says why', async () => {
    const { audit } = memoryStore();
    const { operator, client } = operatorBench({ jobs: [work], stores: { audit: audit! } });
    const { id } = await client.enqueue(work, {});
    expect(await operator.jobs.runAgain(id)).toBe(id);
    const { entries } = await operator.audit();
    expect(entries[0]).toMatchObject({ count: 0, note: `job ${id} is already active` });
  });
});
