/** Thousands of schedules that are due at one moment: one tick takes all, also when another one died half-way. */

import { expect, it } from 'vitest';
import * as z from 'zod/mini';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import { rowOf } from '../../../core/features/schedules/stored/text.ts';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';

const count = 12_000;
const dayMs = 86_400_000;
const clock = createVirtualClock(Date.parse('2026-11-27T23:59:59Z'));
const midnight = Date.parse('2026-11-28T00:00:00Z');

function host() {
  const job = defineJob({ name: 'remind', payload: z.object({ n: z.number() }), handle: async () => {} });
  const signing = keyRing([{ kid: 'k', secret: Buffer.alloc(32, 1) }]);
  return createApp({ jobs: [job], signing, clock });
}

async function fill({ stores }: QueueBackend): Promise<void> {
  const app = host();
  const at = clock.now();
  const kind = {
    cron: '0 0 * * *',
    timezone: 'UTC',
    job: 'remind',
    overlap: 'allow',
    missed: 'one',
  } as const;
  for (let n = 0; n < count; n++) {
    const definition = { ...kind, createdAt: at, changedAt: at, since: at, payload: { n } };
    await stores!.schedules!.write(rowOf(app, `user-${n}`, definition, midnight), null);
  }
}

/** The same backend, as a process sees it that dies after this many writes of schedules. */
function dying(backend: QueueBackend, writes: number): QueueBackend {
  const stores = backend.stores!;
  const own = stores.schedules!;
  let left = writes;
  const write: typeof own.write = async (...given) => {
    if (left-- > 0) return own.write(...given);
    throw new Error('the process has died');
  };
  const schedules = Object.assign(Object.create(own), { write });
  return Object.assign(Object.create(backend), {
    stores: Object.assign(Object.create(stores), { schedules }),
  });
}

const backends: Readonly<Record<string, () => QueueBackend>> = {
  memory: () => memory({ clock }),
  sqlite: () => sqlite({ path: ':memory:', clock }),
};

it.each(Object.keys(backends))(
  'one tick on %s takes 12,000 schedules, after one that died half-way',
  async (name) => {
    const backend = backends[name]!();
    await fill(backend);
    expect(await tick(host(), connect(host(), backend), midnight - 1)).toEqual([]);

    const first = host();
    const failures: string[] = [];
    first.events.on((event) => void (event.type === 'schedule.failed' && failures.push(event.schedule)));
    const before = await tick(first, connect(first, dying(backend, 1_000)), midnight);
    expect(failures.length).toBeGreaterThan(0);
    expect(before.length).toBeLessThanOrEqual(1_000);

    // The leader after it; on SQLite another one ticks at the same time.
    const leaders = name === 'sqlite' ? [host(), host()] : [host()];
    await Promise.all(leaders.map((app) => tick(app, connect(app, backend), midnight)));
    expect(await backend.stores!.schedules!.due(midnight, 10)).toEqual([]);
    const [stats] = await backend.admin!.stats();
    expect(stats!.ready).toBe(count);
    const [next] = await backend.stores!.schedules!.due(midnight + dayMs, 1);
    expect(next!.nextAt).toBe(midnight + dayMs);
    await backend.close();
  },
  120_000,
);
