/** The payload of a command job. */

import { isAbsolute } from 'node:path';
import { shown } from '../base/errors.ts';
import type { StandardSchema } from '../kernel/app/schema.ts';
import { isRecord, payloadSchema, type Report, typeOf } from './checks.ts';

export interface CommandPayload {
  /** Absolute path of an executable on the list of `allow`. */
  readonly command: string;
  /** Passed as they are: nothing splits, expands or quotes them. @default [] */
  readonly args?: readonly string[];
  /** Only names on the list of `envNames`. */
  readonly env?: Readonly<Record<string, string>>;
  /** @default nothing: the command reads an empty input */
  readonly stdin?: string;
}

const maxArgs = 1024;
const noNul = 'expected text without NUL characters';

/** Whether the command is allowed is asked when it runs, on the machine where it runs. */
export function commandPayload(envNames: ReadonlySet<string>): StandardSchema<CommandPayload> {
  return payloadSchema(['command', 'args', 'env', 'stdin'], (payload, report) => {
    const { command, stdin } = payload;
    if (typeof command !== 'string') report(['command'], `expected a string, got ${typeOf(command)}`);
    else if (!isAbsolute(command) || command.includes('\0'))
      report(['command'], `expected an absolute path, got ${shown(command)}`);
    if (payload.args !== undefined) checkArgs(payload.args, report);
    if (payload.env !== undefined) checkEnv(payload.env, envNames, report);
    if (stdin !== undefined && typeof stdin !== 'string')
      report(['stdin'], `expected a string, got ${typeOf(stdin)}`);
  });
}

function checkArgs(args: unknown, report: Report): void {
  if (!Array.isArray(args)) report(['args'], `expected a list of strings, got ${typeOf(args)}`);
  else if (args.length > maxArgs)
    report(['args'], `expected at most ${maxArgs} arguments, got ${args.length}`);
  else {
    for (const [i, arg] of args.entries()) {
      if (typeof arg !== 'string') report(['args', i], `expected a string, got ${typeOf(arg)}`);
      else if (arg.includes('\0')) report(['args', i], noNul);
    }
  }
}

function checkEnv(env: unknown, envNames: ReadonlySet<string>, report: Report): void {
  if (!isRecord(env)) report(['env'], `expected an object of names and strings, got ${typeOf(env)}`);
  else {
    for (const [name, value] of Object.entries(env)) {
      if (!envNames.has(name)) report(['env'], `${shown(name)} is not in envNames`);
      else if (typeof value !== 'string') report(['env', name], `expected a string, got ${typeOf(value)}`);
      else if (value.includes('\0')) report(['env', name], noNul);
    }
  }
}
