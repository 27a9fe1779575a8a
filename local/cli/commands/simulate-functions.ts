import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { flag, lock, maxDeliveries } from '../config/flags.ts';
import { checkPackages } from '../config/packages.ts';
import { integer } from '../config/values.ts';
import { defineCommand, type Input } from '../definition.ts';
import { usage, wrongConfig } from '../errors.ts';
import { createReporter, summaryLines } from '../output/simulation-lines.ts';
import { untilStopped } from './until-stopped.ts';

const words = {
  platform: 'functions',
  broker: 'Service Bus',
  deadLettersOf: (queue: string) => `${queue}/$DeadLetterQueue`,
};

export const simulateFunctions = defineCommand({
  path: 'simulate functions',
  summary: 'run your Azure Functions on this machine, behind Service Bus, as their host would',
  about:
    'Loads the main file of the function app (which calls azure()) into this process, through the real @azure/functions, and gives it messages of a Service Bus in this process by the rules of the host: one message per call, completed when it returns, abandoned when it throws, locks renewed, timers, HTTP. Limits such as the concurrency come from host.json. It has the queues that the app registers, each with its `-failed`. Every connection setting of a trigger leads to this Service Bus and not to Azure. All other settings come from the environment. Ctrl-C ends it. Needs @azure/functions, @azure/service-bus and rhea.',
  args: [
    {
      name: '[entry]',
      text: 'main file of the function app; by default the entry of `simulation.functions` in the config',
    },
  ],
  flags: {
    exitWhenIdle: flag('--exit-when-idle', 'stop when no queue holds a message'),
    concurrency: flag(
      '--concurrency <n>',
      'concurrent calls per queue; by default the setting in host.json',
      integer(1, 1_000),
    ),
    lock,
    maxDeliveries,
    port: flag('--port <n>', 'of the HTTP functions; 0 = any free one', integer(0, 65_535), '7071'),
    busPort: flag('--bus-port <n>', 'of the Service Bus; 0 = any free one', integer(0, 65_535), '0'),
    schedules: flag('--no-schedules', 'never call a timer'),
  },
  examples: [
    'longshore simulate functions main.ts',
    'longshore simulate functions --config examples/longshore.config.ts --exit-when-idle',
    'longshore simulate functions main.ts --lock 5s --max-deliveries 3 --bus-port 5672',
  ],
  exits: { 0: 'stopped by Ctrl-C or SIGTERM, or idle; dead letters are in the summary' },
  async run(input) {
    const { flags, io, ui, json } = input;
    checkPackages({
      '@azure/functions': () => import.meta.resolve('@azure/functions'),
      '@azure/service-bus': () => import.meta.resolve('@azure/service-bus'),
      rhea: () => import.meta.resolve('rhea'),
    });
    const { entry, start } = await entryOf(input);
    const { simulateFunctions: simulate } = await import('../../simulate/functions/simulation.ts');
    const summary = await untilStopped(input, (signal) =>
      simulate(
        {
          entry,
          busPort: flags.busPort,
          httpPort: flags.port,
          lockMs: flags.lock,
          maxDeliveries: flags.maxDeliveries,
          concurrency: flags.concurrency,
          timers: flags.schedules !== false,
          exitWhenIdle: flags.exitWhenIdle === true,
          ...(start && { start }),
          on: json ? () => {} : createReporter(io, ui, words),
        },
        signal,
      ),
    );
    return { data: { ...summary }, text: summaryLines(summary, ui, words) };
  },
});

/** The file on the command line. Without one, the config is loaded and its entry is used. */
async function entryOf({ args, io, session }: Pick<Input, 'args' | 'io' | 'session'>) {
  const [given] = args;
  const config = given === undefined ? await session.config() : null;
  const own = config?.simulation?.functions;
  if (given === undefined && !own) {
    throw usage(
      "Expected the main file of a function app, got none. Name it, or write `export const simulation = { functions: { entry: './main.ts' } }` in the config.",
    );
  }
  const entry = own ? resolve(dirname(config!.path), own.entry) : resolve(io.cwd, given!);
  if (!existsSync(entry)) throw wrongConfig(`There is no file ${entry}. Correct the entry.`);
  return { entry, start: own?.start };
}
