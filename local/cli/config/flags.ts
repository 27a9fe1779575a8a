/** Flags that several commands share. */

import { usage } from '../errors.ts';
import { duration, integer, name } from './values.ts';

export interface Flag<T = unknown> {
  /** In the form of commander: `--max-jobs <n>`, `--yes`, `--no-watch`. */
  readonly flags: string;
  readonly text: string;
  /** Without it the flag is a switch. */
  readonly parse?: (text: string) => T;
  readonly fallback?: T;
  /** The fallback as a user would type it. */
  readonly fallbackText?: string;
  /** Names of flags that cannot be combined with it. */
  readonly conflicts?: readonly string[];
}
type Parsed<T> = Pick<Flag, 'flags' | 'text'> & { readonly parse: (text: string) => T };
type Filled<T> = Parsed<T> & { readonly fallback: T; readonly fallbackText: string };

/** @param parse without it the flag is a switch. @param fallback as a user would type it */
export function flag(flags: string, text: string): Pick<Flag, 'flags' | 'text'>;
export function flag<T>(flags: string, text: string, parse: (text: string) => T): Parsed<T>;
export function flag<T>(flags: string, text: string, parse: (text: string) => T, fallback: string): Filled<T>;
export function flag<T>(flags: string, text: string, parse?: (text: string) => T, fallback?: string) {
  if (!parse) return { flags, text };
  return {
    flags,
    text,
    parse,
    ...(fallback !== undefined && { fallback: parse(fallback), fallbackText: fallback }),
  };
}

export const queueFlag = flag('--queue <name>', 'only of this queue', name);

export const maxFlag = flag('--max <n>', 'at most this many, up to 10000', integer(1, 10_000), '20');

export const watchFlags = {
  watch: flag('--watch', 'refresh until q or Ctrl-C'),
  every: flag('--every <duration>', 'how often to refresh with --watch (2s)', duration(200)),
} as const;

/** The interval of `--watch`; `null` = look once. Throws `USAGE` for `--every` without `--watch`. */
export function watchEveryMs({
  watch,
  every,
}: {
  watch?: boolean | undefined;
  every?: number | undefined;
}): number | null {
  if (every !== undefined && !watch) throw usage('Expected --watch beside --every, got none.');
  return watch ? (every ?? defaultEveryMs) : null;
}

export const defaultEveryMs = 2_000;

export const lock = flag('--lock <duration>', 'how long a delivery is locked', duration(1_000), '1m');

export const maxDeliveries = flag(
  '--max-deliveries <n>',
  'after which Service Bus moves a message to $DeadLetterQueue',
  integer(1, 2_000),
  '10',
);
