import { name } from '../config/values.ts';
import { type Command, defineCommand } from '../definition.ts';
import { canAsk, confirm, yesFlag } from '../output/ask.ts';
import { withProgress } from '../output/progress.ts';
import { count } from '../output/ui.ts';

const queue = { name: '<queue>', text: 'name of a queue', parse: name };
const exits = { 3: 'there is no such queue' };

const pause = defineCommand({
  path: 'pause',
  backends: 'of-queues',
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
  backends: 'of-queues',
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
  backends: 'of-queues',
  summary: 'remove the waiting jobs of queues for good',
  about: 'Ready and delayed jobs go; running ones and dead letters stay.',
  args: [{ name: '<queue...>', text: 'names of queues', parse: name }],
  flags: { yes: yesFlag },
  examples: ['longshore clear mail --yes'],
  exits: {
    1: 'failed, or not confirmed',
    2: 'the command line is wrong or --yes is missing, and nothing was done',
    3: 'there is no such queue',
  },
  async run(input) {
    const { args, flags, session } = input;
    canAsk(input, flags.yes, 'remove waiting jobs');
    const admin = await session.admin('clear a queue');
    const queues = await session.queues(args);
    const stats = (await Promise.all(queues.map((one) => admin.stats(one)))).flat();
    const total = stats.reduce((sum, { ready, delayed }) => sum + ready + delayed, 0);
    const where = queues.join(', ');
    await confirm(input, flags.yes, `Remove ${count(total, 'waiting job')} of ${where} for good?`, total);
    const removed: Record<string, number> = {};
    const { queues: steer } = await session.operator();
    await withProgress(input, 'clearing', total, async (bar) => {
      for (const one of queues) {
        removed[one] = await steer.clear(one);
        bar.add(removed[one]);
      }
    });
    const sum = Object.values(removed).reduce((all, some) => all + some, 0);
    return {
      data: { removed: sum, queues: removed },
      text: `${count(sum, 'waiting job')} of ${where} removed.`,
    };
  },
});

export const queueCommands: readonly Command[] = [pause, resume, clear];
