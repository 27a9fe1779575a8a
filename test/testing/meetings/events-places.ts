/** Other places where jobs are sent and run: a transaction, a thread, a test. Also the check of what a backend supports. */

import { LongshoreError } from '../../../core/base/errors.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { type Client, connect, createApp } from '../../../core/index.ts';
import { abilitiesOf, unmetBy } from '../../../core/kernel/enqueue/abilities.ts';
import { clientOf } from '../../../core/kernel/enqueue/connect.ts';
import { knownAbilities } from '../../../core/kernel/enqueue/known-abilities.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import type { Happening, Met } from './event.ts';
import { type Process, signing } from './process.ts';
import type { Sample } from './sample.ts';
import { inTestApp } from './test-app.ts';

export const inTransaction: Happening = {
  meetings: [
    {
      when: 'around its handlers',
      before(world) {
        world.everyJob = { transaction: true };
      },
    },
    {
      when: 'around its sending',
      before(world) {
        world.sendsInTransaction = true;
      },
    },
    {
      when: 'that is rolled back',
      async before(world) {
        const { sample, sender } = world;
        const transaction = sample.ignoresTx ? null : await world.begin();
        if (!transaction) return;
        sender.tx = transaction.tx;
        const { jobs } = await world.soon(sample.send(sender, '0'));
        sender.tx = undefined;
        await transaction.rollback();
        for (const { id } of jobs) world.undone.add(id);
      },
    },
  ],
};

export const isolatedHandler: Happening = {
  ofAllBackends: true,
  meetings: [
    {
      when: 'in a thread',
      before(world) {
        world.isIsolated = true;
      },
    },
  ],
};

export const inATest: Happening = {
  ofAllBackends: true,
  meetings: [{ when: 'from enqueue to end', instead: inTestApp }],
};

export const checked: Happening = {
  ofAllBackends: true,
  meetings: [{ when: 'on every kind of backend', instead: async (sample) => checkAll(sample) }],
};

/** `connect()` must refuse exactly what `longshore check` reports for a kind of backend. */
function checkAll(sample: Sample): Met {
  const app = createApp({ ...sample.parts({ everyJob: {} } as Process), signing });
  const refused = new Set<string>();
  const complaints: string[] = [];
  for (const [name, abilities] of Object.entries(knownAbilities))
    if (unmetBy(app, { name, ...abilities }).length > 0) refused.add('CONFIG');
  for (const backend of [memory(), bare(clientOf(app, memory()))]) {
    const unmet = unmetBy(app, abilitiesOf(clientOf(app, backend)));
    const code = codeOf(() => connect(app, backend));
    if (code !== (unmet.length > 0 ? 'CONFIG' : null))
      complaints.push(`check finds ${unmet.length} faults, and connect() throws ${code ?? 'nothing'}`);
    if (code !== null) refused.add(code);
  }
  return { complaints, refused };
}

function codeOf(work: () => unknown): string | null {
  try {
    work();
    return null;
  } catch (error) {
    return error instanceof LongshoreError ? error.code : `${error}`;
  }
}

/** A backend that keeps only jobs and keys. */
function bare({ backend, stores }: Client): QueueBackend {
  const { pending, keepsOrder, ...rest } = backend;
  const { keys, records, workers } = stores;
  return { ...rest, stores: { keys, workers, records: { ...records, recordsDisabled: true } } };
}
