/** One command line from argv to exit code. Knows nothing of the process, so that a test can run many. */

import { perform } from './commands/across.ts';
import { commands } from './commands/index.ts';
import type { Input } from './definition.ts';
import { explain } from './errors.ts';
import type { Io } from './io.ts';
import { createUi, plain, type Ui } from './output/ui.ts';
import { fitted } from './output/width.ts';
import { type Parsed, parseArgv } from './program.ts';
import { createSession } from './session.ts';

/** Resolves with the exit code; never rejects. `argv` is what stands after `longshore`. */
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
