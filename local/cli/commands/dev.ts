import { flag } from '../config/flags.ts';
import { integer, name } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { onEnter } from './serve-dashboard.ts';
import { runWorker, workFlags } from './work.ts';

export const dev = defineCommand({
  path: 'dev',
  summary: 'run a worker for development: readable logs, a dashboard, restarts on change',
  about:
    'The worker runs the schedules too. When you save a file that the config imports, it drains and starts again with the new code, also for a file of another package of a monorepo, one that is replaced, and a new one beside it. Beside it runs the dashboard, with buttons that kill the worker, freeze it or deliver a job twice: its link is printed at the start. With --no-watch or --json the worker runs once and alone in this process, for a debugger or a script.',
  args: [{ name: '[queues...]', text: 'by default every queue that the app names', parse: name }],
  flags: {
    concurrency: { ...workFlags.concurrency, fallback: 4, fallbackText: '4' },
    lease: {
      ...workFlags.lease,
      text: 'when the jobs of a dead worker are run again; longer where you stop at breakpoints',
      fallback: 5_000,
      fallbackText: '5s',
    },
    anyQueue: workFlags.anyQueue,
    schedules: workFlags.schedules,
    dashboard: flag('--no-dashboard', 'the worker only'),
    port: flag(
      '--port <port>',
      'of the dashboard, 0 for any free one (4020, or the next one that is free)',
      integer(0, 65_535),
    ),
    watch: flag('--no-watch', 'one process, without restarts and dashboard'),
    log: { ...workFlags.log, text: 'pretty, json or none; by default pretty, none with --json' },
  },
  examples: ['longshore dev', 'longshore dev mail --concurrency 1 --no-schedules --no-dashboard'],
  exits: { 0: 'stopped by Ctrl-C or SIGTERM, drained' },
  async run(input) {
    const { io, flags, json, args } = input;
    input.session.configPath(); // without one there is nothing to wait for; a broken one waits to be saved
    if (flags.watch !== false && !json && io.supervised && !io.supervisor) {
      const code = await io.supervised(input.argv, {
        note: (text) => input.note(text),
        keyboard: flags.dashboard === false ? null : { onEnter: (act) => onEnter(io, act) },
      });
      return { data: {}, text: '', exit: code === 0 ? 0 : 1 };
    }
    const { concurrency, anyQueue, schedules, lease, log = json ? 'none' : 'pretty' } = flags;
    const work = { concurrency, anyQueue, schedules, lease, log };
    if (!io.supervisor) return runWorker(input, work, args);
    const { runPart } = await import('../../dev/part.ts');
    return runPart(input, {
      channel: io.supervisor,
      port: flags.port,
      work: (session) => runWorker({ ...input, session }, work, args),
    });
  },
});
