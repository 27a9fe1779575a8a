/** Flags of the commands that run a Service Bus on this machine. */

import { duration, integer } from './values.ts';

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
