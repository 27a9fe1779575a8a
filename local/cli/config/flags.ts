/** Flags that several commands have. */

import { usage } from '../errors.ts';
import { duration, integer, name } from './values.ts';

export const queueFlag = { flags: '--queue <name>', text: 'only of this queue', parse: name } as const;

export const maxFlag = {
  flags: '--max <n>',
  text: 'at most this many, up to 10000',
  parse: integer(1, 10_000),
  fallback: 20,
} as const;

export const watchFlags = {
  watch: { flags: '--watch', text: 'go on looking, until q or Ctrl-C' },
  every: { flags: '--every <duration>', text: 'how often to look with --watch (2s)', parse: duration(200) },
} as const;

/** How often to look; `null` = once. Throws `USAGE` for --every alone. */
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

export const lock = {
  flags: '--lock <duration>',
  text: 'how long a delivery is locked',
  parse: duration(1_000),
  fallback: 60_000,
  fallbackText: '1m',
};

export const maxDeliveries = {
  flags: '--max-deliveries <n>',
  text: 'after which Service Bus moves a message to $DeadLetterQueue',
  parse: integer(1, 2_000),
  fallback: 10,
};
