/** The shape of a command: data for the parser, the help and the tests, and one function that does it. */

import type { Stores } from '../../core/contract/store.ts';
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
  /** The whole command line after `longshore`. */
  readonly argv: readonly string[];
  readonly args: readonly string[];
  readonly flags: Values<F>;
  /** `--yes` was given. */
  readonly yes: boolean;
  readonly json: boolean;
  readonly io: Io;
  readonly ui: Ui;
  readonly session: Session;
  /** A line for people on stderr; nothing with `--json`. */
  note(text: string): void;
}

export interface Result {
  /** Printed with `--json`; `null` = it was printed while the command ran. */
  readonly data: Readonly<Record<string, unknown>> | null;
  /** Printed otherwise; may be empty. */
  readonly text: string;
  readonly exit?: ExitCode;
  /** It ended before its end, so nothing is begun on further backends. */
  readonly endsAll?: boolean;
}

/** What a command would change, before somebody is asked. */
export interface Plan {
  /** How many it is about. */
  readonly many: number;
  /** `null`: there is nothing to ask. With `--yes` nobody is asked either. */
  readonly question: string | null;
  act(): Promise<Result>;
}

export interface Definition<F extends Flags> {
  /** `status`, or `jobs list` for a command of a group. */
  readonly path: string;
  readonly summary: string;
  /** What one should know beyond the flags. */
  readonly about: string;
  readonly args?: readonly Argument[];
  readonly flags?: F;
  readonly examples: readonly string[];
  /** What an exit code means here, where it means something of its own. */
  readonly exits?: Partial<Readonly<Record<ExitCode, string>>>;
  /**
   * What it does where the config exports several backends and none is named: it runs on each of them, or on those that have the jobs
   * (`ids`), the queues or the job of its arguments. What it answers of several is put together. @default it knows itself
   */
  readonly backends?: 'each' | 'ids' | 'queues' | 'job';
  /** Of several backends those that have this store are asked. */
  readonly needs?: keyof Stores;
  /** It changes something for good, in words after "This would": it gets `--yes`, and without a terminal it needs that. */
  readonly would?: string;
  /** `false`: it can go on without a terminal and without `--yes`. Throws `USAGE`. @default true */
  readonly asks?: (input: Input<F>) => boolean;
  /** Its list is shown again and again with `--watch`. */
  readonly watched?: true;
  readonly run: (input: Input<F>) => Promise<Result | Plan>;
}
type Absent = 'backends' | 'needs' | 'would' | 'asks' | 'watched';
export type Command = Required<Omit<Definition<Flags>, Absent>> & Pick<Definition<Flags>, Absent>;

export const yesFlag = flag('--yes', 'do not ask');

/** Checks that a command and its flags agree; the table of commands needs no more of the types. */
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

export const exitsOf = ({ exits }: Command): Readonly<Partial<Record<ExitCode, string>>> => ({
  ...commonExits,
  ...exits,
});
