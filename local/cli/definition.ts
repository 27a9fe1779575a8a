/** The shape of a command: data for the parser, the help and the tests, and one function that does it. */

import type { ExitCode } from './errors.ts';
import type { Io } from './io.ts';
import type { Ui } from './output/ui.ts';
import type { Session } from './session.ts';

export interface Flag<T = unknown> {
  /** As commander takes them: `--max-jobs <n>`, `--yes`, `--no-watch`. */
  readonly flags: string;
  readonly text: string;
  /** Without it the flag is a switch. */
  readonly parse?: (text: string) => T;
  readonly fallback?: T;
  /** The fallback as one would type it. */
  readonly fallbackText?: string;
  /** Names of flags that cannot stand beside it. */
  readonly conflicts?: readonly string[];
}
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
   * What it does where the config exports several backends and none is named: it lists what each has, or works on the one that has the jobs,
   * the queues or the job of its arguments. @default it knows itself
   */
  readonly backends?: 'each' | 'of-ids' | 'of-queues' | 'of-job' | 'first';
  readonly run: (input: Input<F>) => Promise<Result>;
}
export type Command = Required<Omit<Definition<Flags>, 'backends'>> & Pick<Definition<Flags>, 'backends'>;

/** Checks that a command and its flags agree; the table of commands needs no more of the types. */
export function defineCommand<const F extends Flags = Record<never, never>>(command: Definition<F>): Command {
  return { args: [], flags: {}, exits: {}, ...command } as unknown as Command;
}

const commonExits: Readonly<Record<0 | 1 | 2, string>> = {
  0: 'done',
  1: 'failed; the message says why',
  2: 'the command line is wrong, and nothing was done',
};

export const exitsOf = ({ exits }: Command): Readonly<Partial<Record<ExitCode, string>>> => ({
  ...commonExits,
  ...exits,
});
