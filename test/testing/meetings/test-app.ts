/** A feature in the test of somebody who uses it: `testApp` in place of workers, and time that stands still while a job runs. */

import { createApp, PermanentError } from '../../../core/index.ts';
import { testApp } from '../index.ts';
import type { Meeting } from './event.ts';
import type { Feature, Sent } from './feature.ts';
import { type Process, poison, type Run } from './process.ts';
import { complaintsOf } from './verdict.ts';
import type { World } from './world.ts';

const boundMs = 90_000;

/** What a test without the services cannot do is refused, before anything runs. */
const refusals: readonly unknown[] = ['CONFIG', 'LIMIT'];

export async function inTestApp(feature: Feature, meeting: Meeting): Promise<string[]> {
  try {
    return await story(feature, meeting);
  } catch (error) {
    if ((feature.transacts || feature.offloads) && refusals.includes((error as { code?: unknown }).code))
      return [];
    throw error;
  }
}

async function story(feature: Feature, meeting: Meeting): Promise<string[]> {
  const runs: Run[] = [];
  const rounds = new Map<string, Sent>();
  let count = 0;
  const self = {
    elapsed: () => count++,
    async work(work: Run['work'], { id, attempt, context }: Parameters<Process['work']>[1]) {
      const [at, beganAt, { label }] = [t.clock.now(), self.elapsed(), work];
      const isPoison = label.startsWith(poison);
      runs.push({
        ...{ label, id, attempt, work, at, beganAt, by: 'testApp', tenantId: context.tenantId },
        ...{ endedAt: self.elapsed(), lostAt: null, end: isPoison ? 'failed' : 'done' },
      });
      if (isPoison) throw new PermanentError(`${label} is poison`);
    },
  } as unknown as Process & { client: unknown };
  const t = testApp(createApp(feature.parts(self)));
  Object.assign(self, {
    app: t.app,
    client: t.client,
    home: t.client,
    clients: [t.client],
    clock: t.clock,
    backend: t.backend,
  });
  const world = {
    ...{ feature, runs, rounds, people: self, resent: 0, purged: false, payloads: new Map() },
    ...{ gone: new Set(), stopped: new Set(), mayDie: new Set(), mended: new Set() },
    ...{ changed: new Map(), times: new Map(), timeline: { isStepped: () => false } },
  } as unknown as World;
  for (const round of ['1', '2']) {
    let isOver = false;
    const sending = feature.send(self, round).finally(() => {
      isOver = true;
    });
    sending.catch(() => {}); // it is waited for below
    while (!isOver) {
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
      if (!isOver) t.advance(1_000); // it waits for its time
    }
    rounds.set(round, await sending);
    feature.meanwhile?.(self, round);
    await t.runFor((feature.asksMs ?? 0) + boundMs);
    const complaints = await complaintsOf(world, meeting);
    if (complaints.length > 0) return complaints;
  }
  return [];
}
