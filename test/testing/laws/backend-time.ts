/** Laws of a queue that says its own time: it decides what is due, and no host's clock does. */

import assert from 'node:assert/strict';
import { connect } from '../../../core/index.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { appOf } from './app.ts';
import { hour, second } from './kit.ts';
import type { Law } from './law.ts';

const delayMs = 2 * second;
/** Where a queue lives in real time. */
const toleranceMs = 5 * second;

export function timeLaws(law: Law): void {
  law('the time that a queue says is the one by which its messages become ready', async (t) => {
    if (!t.backend.now) return; // each host's clock decides
    const before = await t.backend.now();
    assert.ok(Math.abs(before - t.now()) < toleranceMs, `expected about ${t.now()}, got ${before}`);
    await t.advance(delayMs);
    const passedMs = (await t.backend.now()) - before;
    assert.ok(passedMs >= delayMs && passedMs < delayMs + toleranceMs, `${passedMs} ms have passed`);
  });

  law('a job keeps its lease when the clock of its host is set', async (t) => {
    for (const setMs of [hour, -hour]) {
      let skewMs = 0;
      const app = appOf(t, () => skewMs);
      const store = memoryStore({ clock: { now: () => t.now(), after: app.clock.after } });
      const client = connect(app, t.backend, t.backend.stores ? {} : { store });
      await client.enqueue(app.jobs.get('invoice.send')!, 1);
      const run = createRun(await t.take(), app.clock);
      skewMs = setMs;
      const result = await attempt(app, { client, settler: t.backend }, run);
      assert.deepEqual([result.outcome, result.settled], ['acked', true]);
    }
    await t.nothingEverComes();
  });

  law(
    'a delayed job runs when it is due, though its worker has a clock that is an hour behind',
    async (t) => {
      if (!t.backend.now) return;
      const right = appOf(t);
      await connect(right, t.backend).enqueue(right.jobs.get('invoice.send')!, 1, { delayMs });
      await t.nothingComes();
      await t.advance(delayMs);
      const app = appOf(t, -hour);
      const ports = { client: connect(app, t.backend), settler: t.backend };
      const result = await attempt(app, ports, createRun(await t.take()));
      assert.deepEqual([result.outcome, result.settled], ['acked', true]);
      await t.nothingEverComes();
    },
    { needs: 'delays' },
  );
}
