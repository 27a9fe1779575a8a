import { defaultEveryMs } from '../config/flags.ts';
import { duration, name } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { watchQueues } from './queue-picture.ts';

export const top = defineCommand({
  path: 'top',
  backends: 'first',
  summary: 'watch queues, their rates and what runs, live',
  about:
    'The same as `longshore status --watch`. Rates are per minute, and p95 is the wait of 95 % of the jobs, where numbers are kept; else it shows the change of `ready`. Workers tell of 20 running jobs each, functions of none. Arrows and page keys scroll, s sorts by name, oldest, ready, done or failed, q ends. Without a terminal it prints a line for each queue, and with --json an object for each look.',
  args: [{ name: '[queues...]', text: 'only these', parse: name }],
  flags: {
    every: {
      flags: '--every <duration>',
      text: 'how often to look',
      parse: duration(200),
      fallback: defaultEveryMs,
      fallbackText: '2s',
    },
  },
  examples: ['longshore top', 'longshore top mail pdf --every 5s'],
  exits: { 0: 'ended by q or a signal', 3: 'a queue that was asked for is not there' },
  async run(input) {
    const { args, flags, session } = input;
    return watchQueues(input, await session.queues(args), flags.every);
  },
});
