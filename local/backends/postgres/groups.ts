/** Groups of messages as parameters. */

import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import { storable, textArray } from './arrays.ts';

export const groupArrays = (messages: readonly Pick<OutgoingMessage, 'group' | 'order'>[]): Buffer[] => [
  textArray(messages.map(({ group }) => group && storable(group))),
  textArray(messages.map(({ order }) => order ?? null)),
];
