import { aborted } from '../../waiting.ts';
import { flag, lock, maxDeliveries } from '../config/flags.ts';
import { checkPackages } from '../config/packages.ts';
import { integer, name } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { untilStopped } from './until-stopped.ts';

export const emulateServiceBus = defineCommand({
  path: 'emulate servicebus',
  summary: 'run a Service Bus for development on this machine',
  about:
    'Prints its connection string and runs until Ctrl-C. It has the queues of the app, each with its `-failed`, with duplicate detection, locks, scheduled messages and `$DeadLetterQueue`, for the real @azure/service-bus. Queues with ordered groups require sessions, and so do those of --sessions. Nothing is kept when it ends. There is no access control, so use it for development only. No topics. Needs the package rhea. With --json it prints the object when it listens.',
  args: [{ name: '[queues...]', text: 'names of the queues; by default those of the app', parse: name }],
  flags: {
    port: flag('--port <n>', 'to listen on; 0 = any free one', integer(0, 65_535), '5672'),
    host: flag(
      '--host <address>',
      'to listen on; any other than a loopback address makes it public',
      String,
      '127.0.0.1',
    ),
    sessions: flag(
      '--sessions <queues>',
      'further queues that require sessions, separated by commas',
      (text: string) => text.split(',').map(name),
    ),
    lock,
    maxDeliveries,
  },
  examples: [
    'longshore emulate servicebus',
    'longshore emulate servicebus mail reports --port 5673 --lock 5s --max-deliveries 3',
  ],
  exits: { 0: 'stopped by Ctrl-C or SIGTERM' },
  async run(input) {
    const { args, flags, session, io, json, note } = input;
    checkPackages({ rhea: () => import.meta.resolve('rhea') });
    const app = args.length > 0 ? null : (await session.config()).app;
    const names = app?.queues ?? [...new Set(args)];
    const ordered = [...(app?.queueRules ?? [])].flatMap(([queue, { order }]) => (order ? [queue] : []));
    const sessions = [...ordered, ...(flags.sessions ?? [])];
    const { startServiceBus } = await import('../../simulate/service-bus/server.ts');
    const { createAppQueues } = await import('../../simulate/service-bus/server.ts');
    const { port, host, lock: lockMs, maxDeliveries: maxDeliveryCount } = flags;
    await untilStopped(input, async (signal) => {
      const server = await startServiceBus({ port, host });
      try {
        const queues = createAppQueues(server, names, { lockMs, maxDeliveryCount }, sessions);
        const { connectionString } = server;
        note(`Service Bus for development on ${host}, port ${server.port}, until Ctrl-C. Nothing is kept.`);
        note(`Queues: ${queues.join(', ')}`);
        const line = json
          ? JSON.stringify({ port: server.port, connectionString, queues })
          : connectionString;
        io.stdout.write(`${line}\n`);
        await aborted(signal);
      } finally {
        await server.stop();
      }
    });
    return { data: null, text: '' };
  },
});
