import { queuesOf } from '../../../core/operations/queues.ts';
import { askEach } from '../../../core/routing/each.ts';
import { name } from '../config/values.ts';
import { type Command, defineCommand, someAway } from '../definition.ts';
import { withProgress } from '../output/progress.ts';
import { count } from '../output/ui.ts';
import type { Session } from '../session.ts';
import { change } from './change.ts';
import { listed } from './perform.ts';
import { chosenQueues } from './select-jobs.ts';

/** @param what the purpose, for the error of a backend without an admin API */
const queueIn = (what: string) => async (session: Session, target: string) => {
  await session.admin(what);
  await chosenQueues(session, [target]);
  return { target, found: null };
};

const pause = change('queues.pause', {
  path: 'pause',
  about:
    'Running jobs end normally, and jobs can still be enqueued. It stays paused until `longshore resume`.',
  example: 'mail',
  find: queueIn('pause a queue'),
  data: (queue) => ({ queue, paused: true }),
  next: (queue) => `Go on with: longshore resume ${queue}`,
});

const resume = change('queues.resume', {
  path: 'resume',
  about: 'Does nothing if the queue is not paused.',
  example: 'mail',
  find: queueIn('resume a queue'),
  data: (queue) => ({ queue, paused: false }),
});

const clear = defineCommand({
  path: 'clear',
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
    await session.admin('clear a queue');
    const { queues: stats } = await chosenQueues(session, args);
    const queues = [...new Set(args)];
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
  summary: 'take back the jobs of workers that died',
  about: 'Workers do this by themselves every few seconds. Use it if no worker runs.',
  args: [{ name: '[queues...]', text: 'by default all', parse: name }],
  examples: ['longshore reap', 'longshore reap mail --json'],
  exits: { 1: someAway, 3: 'a queue that was named is not there' },
  async run(input) {
    const { args, session } = input;
    if (args.length > 0) await chosenQueues(session, args);
    const { answers, ...missed } = await askEach(await session.clients(), async (one) => {
      const own = one.backend.admin ? (await queuesOf(one)).map(({ queue }) => queue) : one.app.queues;
      const queues = args.length > 0 ? own.filter((name) => args.includes(name)) : own;
      return eachQueue(queues, (queue) => one.backend.reapExpired(queue));
    });
    const reaped = answers.reduce((sum, { answer }) => sum + answer.sum, 0);
    const queues: Record<string, number> = {};
    for (const { answer } of answers)
      for (const [queue, many] of Object.entries(answer.queues)) queues[queue] = (queues[queue] ?? 0) + many;
    return listed(input, { reaped, queues, ...missed }, `${count(reaped, 'job')} taken back.`);
  },
});

async function eachQueue(queues: readonly string[], work: (queue: string) => Promise<number>) {
  const counts: Record<string, number> = {};
  for (const queue of queues) counts[queue] = await work(queue);
  return { queues: counts, sum: Object.values(counts).reduce((all, one) => all + one, 0) };
}

export const queueCommands: readonly Command[] = [pause, resume, clear, reap];
