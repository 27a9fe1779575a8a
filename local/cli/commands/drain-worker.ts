import { forgetWorkerMs } from '../../../core/kit/worker-state.ts';
import { hint } from '../config/nearest.ts';
import { words } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { notFound, usage } from '../errors.ts';
import type { Session } from '../session.ts';
import { nameOf } from './running-jobs.ts';

export const drainWorkerCommand = defineCommand({
  path: 'workers drain',
  backends: 'first',
  summary: 'ask a worker to take no more jobs and to stop',
  about:
    'It hears of it with its next heartbeat, within 5 seconds, lets its jobs end and stops as after a signal. Whatever supervises its process may start another one.',
  args: [
    {
      name: '<worker>',
      text: 'as `longshore workers` shows it, or its id, or how that begins',
      parse: words,
    },
  ],
  examples: ['longshore workers drain app-1:4711'],
  exits: { 3: 'there is no such worker' },
  async run({ args: [wanted = ''], session, io }) {
    const { id, name } = await workerOf(session, wanted, io.clock.now());
    await (await session.operator()).workers.drain(id);
    return { data: { worker: id, draining: true }, text: `${name} takes no more jobs, and stops.` };
  },
});

async function workerOf(session: Session, wanted: string, now: number) {
  const { workers } = (await session.client()).stores;
  const all = (await workers.list(now - forgetWorkerMs)).map((beat) => ({ id: beat.id, name: nameOf(beat) }));
  const exact = all.filter(({ id, name }) => id === wanted || name === wanted);
  const found = exact.length > 0 ? exact : all.filter(({ id }) => id.startsWith(wanted));
  if (found.length > 1)
    throw usage(
      `Expected a name that only one worker has, got "${wanted}": ${found.map(({ id }) => id).join(', ')}. Give an id.`,
    );
  if (found[0]) return found[0];
  throw notFound(
    `There is no worker "${wanted}" here.${hint(
      wanted,
      all.map(({ name }) => name),
    )}`,
  );
}
