import { name } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { runWorker, workFlags } from './work.ts';

export const dev = defineCommand({
  path: 'dev',
  summary: 'run a worker for development: readable logs, restarts on change',
  about:
    'The worker runs the schedules too. When you save a file that the config imports, it drains and starts again with the new code, also for a file of another package of a monorepo, one that is replaced, and a new one beside it. With --json it runs once, without watching.',
  args: [{ name: '[queues...]', text: 'by default every queue that a job of the app names', parse: name }],
  flags: {
    concurrency: { ...workFlags.concurrency, fallback: 4 },
    anyQueue: workFlags.anyQueue,
    schedules: workFlags.schedules,
    watch: { flags: '--no-watch', text: 'do not restart on change' },
    log: { ...workFlags.log, text: 'pretty, json or none; by default pretty, none with --json' },
  },
  examples: ['longshore dev', 'longshore dev mail --concurrency 1 --no-schedules'],
  exits: { 0: 'stopped by Ctrl-C or SIGTERM, drained' },
  async run(input) {
    const { io, flags, json, args } = input;
    input.session.configPath(); // without one there is nothing to wait for; a broken one waits to be saved
    if (flags.watch !== false && !json && io.watched) {
      const code = await io.watched([...input.argv, '--no-watch']);
      return { data: {}, text: '', exit: code === 0 ? 0 : 1 };
    }
    const { concurrency, anyQueue, schedules, log = json ? 'none' : 'pretty' } = flags;
    return runWorker(input, { concurrency, anyQueue, schedules, log }, args);
  },
});
