/** One command line from argv to exit code. Knows nothing of the process, so that a test can run many. */

import { CommanderError } from 'commander';
import { commands } from './commands/index.ts';
import type { Command, Input, Result } from './definition.ts';
import { CliError, type Explained, explain, usage } from './errors.ts';
import type { Io } from './io.ts';
import { createUi, plain, type Ui } from './output/ui.ts';
import { buildProgram, type Parsed } from './program.ts';
import { createSession } from './session.ts';

/** Resolves with the exit code; never rejects. `argv` is what stands after `longshore`. */
export async function run(argv: readonly string[], io: Io): Promise<number> {
  const json = before(argv, '--').includes('--json');
  const plainOutput = json || before(argv, '--').includes('--no-color') || Boolean(io.env.NO_COLOR);
  const ui = createUi({
    colour: io.isTTY.stdout && !plainOutput,
    columns: io.isTTY.stdout ? io.columns : null,
  });
  try {
    const parsed = parse(argv, io);
    return parsed === null ? 0 : await execute(argv, parsed, io, ui);
  } catch (error) {
    report(error, io, json, io.isTTY.stderr && !plainOutput);
    return explain(error).exit;
  }
}

/** `null`: help or the version was asked for, and printed. */
function parse(argv: readonly string[], io: Io): Parsed | null {
  let parsed: Parsed | null = null;
  const program = buildProgram(commands, io, (found) => {
    parsed = found;
  });
  try {
    program.parse([...argv], { from: 'user' });
  } catch (error) {
    if (error instanceof CliError) throw error;
    if (!(error instanceof CommanderError)) throw usage(String(error));
    if (error.exitCode !== 0) throw usage(error.message);
  }
  return parsed;
}

async function execute(argv: readonly string[], parsed: Parsed, io: Io, ui: Ui): Promise<number> {
  const { command, args, flags, globals } = parsed;
  const json = globals.json === true;
  const session = createSession(io, globals.config);
  const input: Input = {
    argv,
    args,
    flags,
    json,
    io,
    ui,
    session,
    note(text) {
      if (!json) io.stderr.write(`${plain(text)}\n`);
    },
  };
  let result: Result;
  try {
    result = await command.run(input);
  } finally {
    await session.close();
  }
  if (json && result.data !== null) io.stdout.write(`${JSON.stringify(result.data)}\n`);
  else if (result.text !== '') io.stdout.write(`${result.text}\n`);
  return result.exit ?? 0;
}

function report(error: unknown, io: Io, json: boolean, colour: boolean): void {
  const { code, message }: Explained = explain(error);
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

export type { Command };
