/** Laws of jobs that hand on what they return. */

import assert from 'node:assert/strict';
import { connect, createApp, defineJob } from '../../../core/index.ts';
import { createRun } from '../../../core/kernel/attempt/run.ts';
import { attempt } from '../../../core/kernel/flow.ts';
import { memoryStore } from '../../../local/backends/memory/store.ts';
import { appOf } from './app.ts';
import { type Kit, mail, second } from './kit.ts';
import type { Law } from './law.ts';

const anything = {
  '~standard': {
    version: 1,
    vendor: 'longshore',
    validate: (value: unknown) => ({ value: value as string }),
  },
} as const;

/** A job that appends its letter to what it is given. */
function chaining(t: Kit, during: () => unknown = () => {}) {
  const base = appOf(t);
  const ran: unknown[] = [];
  const jobs = ['a', 'b', 'c', 'd'].map((letter) =>
    defineJob({
      name: `append.${letter}`,
      queue: mail,
      payload: anything,
      async handle(given) {
        ran.push(given);
        if (ran.length === 1) await during();
        return `${[given].flat().join('+')}${letter}`;
      },
    }),
  );
  const app = createApp({ jobs, signing: base.keyRing(), clock: base.clock });
  const { backend } = t;
  const client = connect(app, backend, backend.stores ? {} : { store: memoryStore({ clock: app.clock }) });
  const run = async () => attempt(app, { client, settler: backend }, createRun(await t.take()));
  return { app, client, jobs, ran, run };
}

export function chainLaws(law: Law): void {
  law('a chain hands results on, to several jobs at once and from all of them', async (t) => {
    const { client, jobs, ran, run } = chaining(t);
    const [a, b, c, d] = jobs;
    const { ids } = await client.chain([a!, [b!, c!], d! as never], '>');
    for (let i = 0; i < 4; i++) assert.equal((await run()).outcome, 'acked');
    await t.nothingComes();
    assert.deepEqual(ran.slice(0, 3), ['>', '>a', '>a']);
    assert.deepEqual(ran[3], ['>ab', '>ac']);
    if (!client.stores.records.recordsDisabled)
      assert.equal(await client.result(d!, ids[2] as string, { timeoutMs: 0 }), '>ab+>acd');
  });

  law('a worker that has lost a link starts no further one', async (t) => {
    const { app, client, jobs, run } = chaining(t, async () => {
      await t.advance(3 * second);
      await t.reap();
    });
    await client.chain([jobs[0]!, jobs[1]!], '>');
    const lease = await t.take({ leaseMs: 2 * second });
    const late = await attempt(app, { client, settler: t.backend }, createRun(lease));
    assert.equal(late.settled, false);
    assert.equal((await run()).job, 'append.a');
    assert.equal((await run()).job, 'append.b');
    await t.nothingComes();
  });
}
