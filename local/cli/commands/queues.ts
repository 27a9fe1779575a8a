import { name } from '../config/values.ts';
import { type Command, defineCommand } from '../definition.ts';
import { withProgress } from '../output/progress.ts';
import { count } from '../output/ui.ts';

const queue = { name: '<queue>', text: 'name of a queue', parse: name };
const exits = { 3: 'there is no such queue' };

const pause = defineCommand({
  path: 'pause',
  backends: 'queues',
  summary: 'stop giving out jobs of a queue',
  about:
    'Running jobs end normally, and jobs can still be enqueued. It stays paused until `longshore resume`.',
  args: [queue],
  examples: ['longshore pause mail'],
  exits,
  async run({ args, session }) {
    await session.admin('pause a queue');
    const [one = ''] = await session.queues(args);
    await (await session.operator()).queues.pause(one);
    return {
      data: { queue: one, paused: true },
      text: `${one} is paused. Go on with: longshore resume ${one}`,
    };
  },
});

const resume = defineCommand({
  path: 'resume',
  backends: 'queues',
  summary: 'give out jobs of a paused queue again',
  about: 'Does nothing to a queue that is not paused.',
  args: [queue],
  examples: ['longshore resume mail'],
  exits,
  async run({ args, session }) {
    await session.admin('resume a queue');
    const [one = ''] = await session.queues(args);
    await (await session.operator()).queues.resume(one);
    return { data: { queue: one, paused: false }, text: `${one} gives out jobs.` };
  },
});

const clear = defineCommand({
  path: 'clear',
  backends: 'queues',
  would: 'remove waiting jobs',
  summary: 'remove the waiting jobs of queues for good',
  about: 'Ready and delayed jobs go; running ones and dead letters stay.',
  args: [{ name: '<queue...>', text: 'names of queues', parse: name }],
  examples: ['longshore clear mail --yes'],
  exits: {
    1: 'failed, or not confirmed',
    2: 'the command line is wrong or --yes is missing, and nothing was done',
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
  about: 'Workers do this by themselves every few seconds. Use it where no worker runs.',
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
