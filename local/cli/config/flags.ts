/** Flags that several commands have. */

import { duration, integer, name } from './values.ts';

export const queueFlag = { flags: '--queue <name>', text: 'only of this queue', parse: name } as const;

export const maxFlag = {
  flags: '--max <n>',
  text: 'at most this many, up to 10000',
  parse: integer(1, 10_000),
  fallback: 20,
} as const;

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
