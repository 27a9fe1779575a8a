/** Runs one command line and returns its exit code. Independent of the process, so that a test can run many. */

import { Argument, Command as Commander, CommanderError, Option } from 'commander';
import { hint } from '../../core/base/nearest.ts';
import { commands } from './commands/index.ts';
import { perform } from './commands/perform.ts';
import { type Command, exitsOf, type Flag, type Input } from './definition.ts';
import { CliError, explain, usage } from './errors.ts';
import type { Io } from './io.ts';
import { createUi, fitted, plain, type Ui } from './output/ui.ts';
import { createSession } from './session.ts';
import { version } from './version.ts';

/** Resolves with the exit code; never rejects. @param argv the command line after `longshore` */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const own = before(argv, '--');
  const json = own.includes('--json');
  const plainOutput = json || own.includes('--no-color') || Boolean(io.env.NO_COLOR);
  const ui = createUi({
    colour: io.isTTY.stdout && !plainOutput,
    columns: io.isTTY.stdout ? io.columns : null,
  });
  try {
    const parsed = parseArgv(commands, argv, io);
    return parsed === null ? 0 : await execute(argv, parsed, io, ui);
  } catch (error) {
    report(error, io, json, io.isTTY.stderr && !plainOutput);
    return explain(error).exit;
  }
}

async function execute(argv: readonly string[], parsed: Parsed, io: Io, ui: Ui): Promise<number> {
  const { command, args, flags, globals } = parsed;
  const json = globals.json === true;
  const session = createSession(io, globals.config, globals.backend);
  const input: Input = {
    argv,
    args,
    flags,
    yes: (flags as { readonly yes?: unknown }).yes === true,
    json,
    io,
    ui,
    session,
    get version() {
      return version();
    },
    note(text) {
      if (!json) io.stderr.write(`${plain(text)}\n`);
    },
  };
  const result = await perform(command, input).finally(() => session.close());
  if (json && result.data !== null) io.stdout.write(`${JSON.stringify(result.data)}\n`);
  else if (result.text !== '') io.stdout.write(`${fitted(result.text, ui.columns)}\n`);
  return result.exit ?? 0;
}

function report(error: unknown, io: Io, json: boolean, colour: boolean): void {
  const { code, message } = explain(error);
  const debug = io.env.LONGSHORE_DEBUG === '1' ? stackOf(error) : null;
  if (json) {
    const more = debug === null ? {} : { stack: debug };
    io.stderr.write(`${JSON.stringify({ error: { code, message, ...more } })}\n`);
    return;
  }
  const ui = createUi({ colour, columns: null });
  io.stderr.write(`${ui.paint('red', code)}: ${plain(message)}\n${debug === null ? '' : `${debug}\n`}`);
}

function stackOf(error: unknown): string {
  const stacks: string[] = [];
  for (let at = error; at instanceof Error && stacks.length < 5; at = at.cause) {
    stacks.push(at.stack ?? at.message);
  }
  return stacks.join('\ncaused by ');
}

const before = (argv: readonly string[], word: string): readonly string[] =>
  argv.includes(word) ? argv.slice(0, argv.indexOf(word)) : argv;

interface Parsed {
  readonly command: Command;
  readonly args: readonly string[];
  readonly flags: Record<string, never>;
  readonly globals: { readonly json?: boolean; readonly config?: string; readonly backend?: string };
}

/** Descriptions of the command groups. */
const groups: Readonly<Record<string, string>> = {
  jobs: 'list, show, cancel and repeat jobs',
  dead: 'list, edit, retry or discard dead letters',
  schedule: 'list schedules, run one now, pause and resume them',
  package: 'bundle functions for a cloud, and write a template that deploys them',
  simulate: 'run functions on this machine as their cloud would',
  emulate: 'run a service of a cloud on this machine, for development',
  chains: 'show and cancel chains of jobs',
  keys: 'make a signing key, or list the ids of those in use',
};

/** `null` = help or the version was printed. Throws `USAGE`. */
function parseArgv(commands: readonly Command[], argv: readonly string[], io: Io): Parsed | null {
  let parsed: Parsed | null = null;
  const program = emptyProgram(io);
  for (const command of commands) {
    const words = command.path.split(' ');
    const made = added(words.length > 1 ? groupOf(program, words[0]!) : program, words.at(-1)!);
    describeCommand(made, command);
    made.action(() => {
      parsed = { command, args: made.args, flags: flagsOf(made), globals: made.optsWithGlobals() };
    });
  }
  try {
    program.parse([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CliError) throw error;
    if (!(error instanceof CommanderError)) throw usage(String(error));
  }
  return parsed;
}

/** Commands that are added to it inherit its output settings. */
function emptyProgram(io: Io): Commander {
  const program = new Commander('longshore')
    .description('Background jobs in TypeScript: run workers, enqueue, look inside, repair.')
    .version(version(), '-V, --version', 'print the version')
    .option(
      '--config <path>',
      'the config to load instead of LONGSHORE_CONFIG, or longshore.config.ts (.mts, .cts, .js, .mjs, .cjs) in this folder',
    )
    .option('--backend <name>', 'which backend, where the config exports several by name; by default all')
    .option('--json', 'print exactly one JSON object on stdout; an error is one on stderr')
    .option('--no-color', 'no colours (they are also off without a terminal and with NO_COLOR)')
    .helpOption('-h, --help', 'explain this command')
    .addHelpText('after', introduction)
    .configureHelp({ showGlobalOptions: true, helpWidth: Math.max(60, Math.min(io.columns, 100)) })
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: () => {}, // errors are thrown, and written by run()
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  return withSentences(program);
}

const added = (parent: Commander, name: string): Commander => withSentences(parent.command(name));

function groupOf(program: Commander, name: string): Commander {
  const found = program.commands.find((one) => one.name() === name);
  return found ?? added(program, name).description(groups[name]!);
}

/** The parent command `batches` also parses the `--max` of `batches children`. */
function flagsOf(made: Commander): Parsed['flags'] {
  const { parent } = made;
  const taken = made.options
    .map((option) => option.attributeName())
    .filter((name) => parent?.getOptionValueSource(name) === 'cli');
  return {
    ...(made.opts() as object),
    ...Object.fromEntries(taken.map((name) => [name, parent!.getOptionValue(name)])),
  } as never;
}

function describeCommand(made: Commander, command: Command): void {
  made
    .summary(command.summary)
    .description(`${command.summary}\n\n${command.about}`.trim())
    .addHelpText('after', helpAfter(command));
  for (const { name, text, parse } of command.args) {
    const argument = new Argument(name, text);
    if (parse)
      argument.argParser((given: string, earlier?: unknown) => {
        const value = parse(given);
        return argument.variadic ? [...(Array.isArray(earlier) ? earlier : []), value] : value;
      });
    made.addArgument(argument);
  }
  for (const flag of Object.values(command.flags)) made.addOption(optionOf(flag));
}

function optionOf({ flags, text, parse, fallback, fallbackText, conflicts = [] }: Flag): Option {
  const option = new Option(flags, text).conflicts([...conflicts]);
  let seen = false;
  if (parse) {
    option.argParser((given: string) => {
      // By default the last of two values would win silently.
      if (seen) throw usage(`Expected ${option.long} once, got it twice. Keep one of them.`);
      seen = true;
      return parse(given);
    });
  }
  if (fallback !== undefined) option.default(fallback, fallbackText);
  return option;
}

function withSentences(command: Commander): Commander {
  return command.exitOverride((error) => {
    if (error.exitCode === 0) throw error;
    throw usage(sentence(command, error));
  });
}

/** Rewrites commander's message so that it says what to do. */
function sentence(command: Commander, error: CommanderError): string {
  const called = pathOf(command);
  const help = `See \`${called} --help\`.`;
  const names = command.commands.map((one) => one.name());
  const unknown = (given: string): string =>
    `There is no command \`${called} ${given}\`.${hint(given, names)} ${help}`;
  if (error.code === 'commander.help') {
    const [first, asked] = command.args;
    if (first === 'help' && asked !== undefined) return unknown(asked);
    return `Expected a command after \`${called}\`, got none. It has: ${names.join(', ')}. ${help}`;
  }
  if (error.code === 'commander.unknownCommand') {
    return unknown(/'(.*)'/.exec(error.message)?.[1] ?? '');
  }
  const given =
    error.code === 'commander.unknownOption' ? (/'(--[\w-]+)'/.exec(error.message)?.[1] ?? '') : '';
  const meant = calledElsewhere[given];
  if (meant !== undefined && command.options.some(({ long }) => long === meant))
    return `There is no option ${given}. Did you mean ${meant}? ${help}`;
  const text = error.message
    .replace(/^error: /, '')
    .replace(/(argument value|argument) '(.{60}).{8,}' is invalid/s, "$1 '$2…' is invalid")
    .replace(/(but got \d+): .*/s, '$1') // hides the words, which may be an unquoted payload
    .replace(/\n\(Did you mean (?:one of )?(.*)\?\)$/s, '. Did you mean $1?')
    .replace(/([^.?])$/, '$1.');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)} ${help}`;
}

/** Options that have another name in queries, or in `startWorker()`. */
const calledElsewhere: Readonly<Record<string, string>> = { '--limit': '--max', '--until-idle': '--drain' };

function pathOf(command: Commander): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function helpAfter(command: Command): string {
  const examples = command.examples.map((line) => `  $ ${line}`).join('\n');
  const exits = Object.entries(exitsOf(command)).map(([code, meaning]) => `  ${code}  ${meaning}`);
  return `\nExamples:\n${examples}\n\nExit codes:\n${exits.join('\n')}`;
}

const introduction = `
The app and its backend come from your own code, longshore.config.ts:
  import { sqlite } from 'longshore/local/sqlite';
  export { app } from './jobs.ts';
  export const backend = () => sqlite('.longshore/jobs.db');

Examples:
  $ longshore dev                                  worker with readable logs, restarts on change
  $ longshore enqueue greet '{"name":"Ada"}'
  $ longshore status
  $ longshore dead list --queue mail

Durations are 90s, 15m, 2h, 7d or plain milliseconds, sizes 512mb, 2gb or plain bytes.
Exit codes: 0 done, 1 failed, 2 wrong command line, 3 nothing there to do it with.`;
