/** The abilities of this package's backends, known before a backend is opened. A test compares them with the real ones. */

import { mostPerSecondOfItem, mostSlotsOfItem } from '../../kit/texts/stores.ts';
import type { Abilities } from './abilities.ts';

const whole = {
  transactions: false,
  replaces: true,
  records: true,
  counts: true,
  mostSlots: Number.POSITIVE_INFINITY,
  mostPerSecond: () => Number.POSITIVE_INFINITY,
  keepsOrder: () => true,
};

/** SQS counts with dynamoStore(), Service Bus with tableStore(), beanstalkd without a store. Queues are assumed to be FIFO or to have sessions. */
export const knownAbilities = {
  memory: whole,
  sqlite: whole,
  postgres: { ...whole, transactions: true },
  redis: whole,
  beanstalkd: { ...whole, replaces: false, records: false, mostSlots: 0, keepsOrder: () => false },
  sqs: {
    ...whole,
    replaces: false,
    mostSlots: mostSlotsOfItem,
    mostPerSecond: mostPerSecondOfItem,
    keepsOrder: (_, order) => order === 'wait',
  },
  servicebus: {
    ...whole,
    replaces: false,
    counts: false,
    mostSlots: mostSlotsOfItem,
    keepsOrder: (_, order) => order === 'step-aside',
  },
} satisfies Record<string, Omit<Abilities, 'name'>>;
