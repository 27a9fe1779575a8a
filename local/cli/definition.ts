/** The definition of a command: data for the parser, the help and the tests, and a function that runs it. */

import { type Flag, flag, watchFlags } from './config/flags.ts';
import type { ExitCode } from './errors.ts';
import type { Io } from './io.ts';
import type { Ui } from './output/ui.ts';
import type { Session } from './session.ts';

export type { Flag };
export type Flags = Readonly<Record<string, Flag>>;

type Value<F> = F extends { readonly parse: (text: string) => infer T }
  ? F extends { readonly fallback: unknown }
    ? T
    : T | undefined
  : boolean | undefined;
export type Values<F extends Flags> = { readonly [K in keyof F]: Value<F[K]> };

export interface Argument {
  /** `<id>`, `[queue]`, `<id...>`. */
  readonly name: string;
  readonly text: string;
  readonly parse?: (text: string) => string;
}

export interface Input<F extends Flags = Flags> {
  /** The command line after `longshore`. */
  readonly argv: readonly string[];
  readonly args: readonly string[];
  readonly flags: Values<F>;
  /** `--yes` was given. */
  readonly yes: boolean;
  readonly json: boolean;
  readonly io: Io;
  readonly ui: Ui;
  readonly session: Session;
  /** The version of this package. */
  readonly version: string;
  /** Prints a line on stderr; nothing with `--json`. */
  note(text: string): void;
}

export interface Result {
  /** Printed with `--json`; `null` = already printed while the command ran. */
  readonly data: Readonly<Record<string, unknown>> | null;
  /** Printed without `--json`; may be empty. */
  readonly text: string;
  readonly exit?: ExitCode;
}

/** A change that may have to be confirmed first. */
export interface Plan {
  /** Number of things that would change. */
  readonly many: number;
  /** `null` = no confirmation needed. `--yes` also skips it. */
  readonly question: string | null;
  act(): Promise<Result>;
}

export interface Definition<F extends Flags> {
  /** `status`, or `jobs list` for a command of a group. */
  readonly path: string;
  readonly summary: string;
  /** The text of the help between summary and flags. */
  readonly about: string;
  readonly args?: readonly Argument[];
  readonly flags?: F;
  readonly examples: readonly string[];
  /** Exit codes with a special meaning in this command. */
  readonly exits?: Partial<Readonly<Record<ExitCode, string>>>;
  /** For an irreversible change: the text after "This would". Adds `--yes`, which is required without a terminal. */
  readonly would?: string;
  /** `false` = needs neither a terminal nor `--yes` for this input. May throw `USAGE`. @default true */
  readonly asks?: (input: Input<F>) => boolean;
  /** Adds `--watch`, which refreshes the list. */
  readonly watched?: true;
  readonly run: (input: Input<F>) => Promise<Result | Plan>;
}
type Absent = 'would' | 'asks' | 'watched';
export type Command = Required<Omit<Definition<Flags>, Absent>> & Pick<Definition<Flags>, Absent>;

export const yesFlag = flag('--yes', 'do not ask');

/** Checks the types of a command and its flags, then widens them for the table of commands. */
export function defineCommand<const F extends Flags = Record<never, never>>(command: Definition<F>): Command {
  const { flags, would, watched } = command;
  const all = { ...flags, ...(watched && watchFlags), ...(would !== undefined && { yes: yesFlag }) };
  const exits = { ...(would !== undefined && { 1: notConfirmed, 2: noYes }), ...command.exits };
  return { args: [], ...command, exits, flags: all } as unknown as Command;
}

const notConfirmed = 'failed, or not confirmed';
const noYes = 'the command line is wrong or --yes is missing, and nothing was done';

const commonExits: Readonly<Record<0 | 1 | 2, string>> = {
  0: 'done',
  1: 'failed; the message says why',
  2: 'the command line is wrong, and nothing was done',
};

/** Exit code 1 of a list. */
export const someAway = 'failed, or one of several backends did not answer';

export const exitsOf = ({ exits }: Command): Readonly<Partial<Record<ExitCode, string>>> => ({
  ...commonExits,
  ...exits,
});
