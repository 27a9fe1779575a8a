/** Runs a sample in `testApp` instead of workers. Time stands still while a job runs. */

import { createApp, PermanentError } from '../../../core/index.ts';
import { testApp } from '../index.ts';
import type { Meeting, Met } from './event.ts';
import { type Process, poison, type Run } from './process.ts';
import type { Sample, Sent } from './sample.ts';
import { complaintsOf } from './verdict.ts';
import type { World } from './world.ts';

const boundMs = 90_000;

export const inTestApp = async (sample: Sample, meeting: Meeting): Promise<Met> => ({
  complaints: await story(sample, meeting),
  refused: new Set<string>(),
});

async function story(sample: Sample, meeting: Meeting): Promise<string[]> {
  const runs: Run[] = [];
  const rounds = new Map<string, Sent>();
  let count = 0;
  const self = {
    everyJob: {},
    runs,
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
  const t = testApp(createApp(sample.parts(self)));
  Object.assign(self, {
    app: t.app,
    client: t.client,
    home: t.client,
    clients: [t.client],
    clock: t.clock,
    backend: t.backend,
  });
  const world = {
    ...{ sample, runs, rounds, people: self, resent: 0, purged: false, payloads: new Map() },
    ...{ gone: new Set(), undone: new Set(), stopped: new Set(), mayDie: new Set(), mended: new Set() },
    ...{ changed: new Map(), times: new Map(), timeline: { isStepped: () => false } },
  } as unknown as World;
  for (const round of ['1', '2']) {
    let isOver = false;
    const sending = sample.send(self, round).finally(() => {
      isOver = true;
    });
    sending.catch(() => {}); // awaited below
    while (!isOver) {
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
      if (!isOver) t.advance(1_000); // it waits for a time
    }
    rounds.set(round, await sending);
    sample.meanwhile?.(self, round);
    await t.runFor((sample.asksMs ?? 0) + boundMs);
    const complaints = await complaintsOf(world, meeting);
    if (complaints.length > 0) return complaints;
  }
  return [];
}
