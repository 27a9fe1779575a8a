/** Steps, sleeps and waits of a job, which its next attempt remembers, and the events that it waits for. */

import { door } from '../../base/lazy.ts';
import type { EndStep } from '../../kernel/attempt/attempt.ts';
import type { Feature } from '../feature.ts';

const code = door(() => import('./door.ts'));

const remembered: EndStep = {
  for: ({ run }) => run.steps !== null,
  settle: (it, end, next) => code(({ leaveSteps }) => leaveSteps(it, end, next)),
};

export const steps = {
  end: { remember: remembered },
  hasBegun: (it) => (it.ports.client.stores.steps ? code(({ hasSteps }) => hasSteps(it)) : false),
  client: (client) => ({ emit: async (...asked) => code(({ emit }) => emit([client], ...asked)) }),
  // Steps of a cleared queue expire by themselves.
  async forget(client, [id], by) {
    if (by !== 'clear' && id !== undefined && client.stores.steps)
      await code(({ forgetSteps }) => forgetSteps(client, id));
  },
  context: {
    step: {
      of:
        (it) =>
        async (...asked: unknown[]) =>
          code(({ step }) => step(it, ...(asked as [name: string, work: unknown]))) as never,
      isolated: () => code(({ isolatedStep }) => isolatedStep),
    },
    sleep: {
      of: (it) => async (time) => code(({ sleep }) => sleep(it, time)),
      isolated: 'plain',
    },
    waitFor: {
      of: (it) => async (event, options) => code(({ waitFor }) => waitFor(it, event, options) as never),
      isolated: 'plain',
    },
    emit: {
      of:
        ({ ports }) =>
        (...asked) =>
          ports.client.emit(...asked),
      isolated: () => code(({ isolatedEmit }) => isolatedEmit),
    },
  },
} satisfies Feature;
