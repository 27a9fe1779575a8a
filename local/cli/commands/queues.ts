import { name } from '../config/values.ts';
import { type Command, defineCommand } from '../definition.ts';
import { withProgress } from '../output/progress.ts';
import { count } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { change } from './change.ts';

/** @param what the purpose, for the error of a backend without an admin API */
const queueIn = (what: string) => async (session: Session, given: string) => {
  await session.admin(what);
  const [target = ''] = await session.queues([given]);
  return { target, found: null };
};

const pause = change('queues.pause', {
  path: 'pause',
  backends: 'queues',
  about:
    'Running jobs end normally, and jobs can still be enqueued. It stays paused until `longshore resume`.',
  example: 'mail',
  find: queueIn('pause a queue'),
  data: (queue) => ({ queue, paused: true }),
  next: (queue) => `Go on with: longshore resume ${queue}`,
});

const resume = change('queues.resume', {
  path: 'resume',
  backends: 'queues',
  about: 'Does nothing if the queue is not paused.',
  example: 'mail',
  find: queueIn('resume a queue'),
  data: (queue) => ({ queue, paused: false }),
});

const clear = defineCommand({
  path: 'clear',
  backends: 'queues',
  would: 'remove waiting jobs',
  summary: 'remove the waiting jobs of queues for good',
  about: 'Removes ready and delayed jobs. Running jobs and dead letters stay.',
  args: [{ name: '<queue...>', text: 'names of queues', parse: name }],
  examples: ['longshore clear mail --yes'],
  exits: {
    3: 'there is no such queue',
  },
  async run(input) {
    const { args, session } = input;
    const admin = await session.admin('clear a queue');
    const queues = await session.queues(args);
    const stats = (await Promise.all(queues.map((one) => admin.stats(one)))).flat();
    const total = stats.reduce((sum, { ready, delayed }) => sum + ready + delayed, 0);
    const where = queues.join(', ');
    return {
      many: total,
      question: `Remove ${count(total, 'waiting job')} of ${where} for good?`,
      async act() {
        const { queues: steer } = await session.operator();
        const removed = await withProgress(input, 'clearing', total, (bar) =>
          eachQueue(queues, async (one) => {
            const gone = await steer.clear(one);
            bar.add(gone);
            return gone;
          }),
        );
        return {
          data: { removed: removed.sum, queues: removed.queues },
          text: `${count(removed.sum, 'waiting job')} of ${where} removed.`,
        };
      },
    };
  },
});

const reap = defineCommand({
  path: 'reap',
  backends: 'each',
  summary: 'take back the jobs of workers that died',
  about: 'Workers do this by themselves every few seconds. Use it if no worker runs.',
  args: [{ name: '[queues...]', text: 'by default all', parse: name }],
  examples: ['longshore reap', 'longshore reap mail --json'],
  exits: { 3: 'a queue that was named is not there' },
  async run({ args, session }) {
    const { backend } = await session.client();
    const { sum: reaped, queues } = await eachQueue(await session.queues(args), (queue) =>
      backend.reapExpired(queue),
    );
    return { data: { reaped, queues }, text: `${count(reaped, 'job')} taken back.` };
  },
});

async function eachQueue(queues: readonly string[], work: (queue: string) => Promise<number>) {
  const counts: Record<string, number> = {};
  for (const queue of queues) counts[queue] = await work(queue);
  return { queues: counts, sum: Object.values(counts).reduce((all, one) => all + one, 0) };
}

export const queueCommands: readonly Command[] = [pause, resume, clear, reap];
