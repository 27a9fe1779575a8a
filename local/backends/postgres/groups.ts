/** Groups in statements: those of messages as parameters, and which queues have a job that came forward. */

import type { OutgoingMessage } from '../../../core/contract/queue.ts';
import { storable, textArray } from './arrays.ts';
import { cameForward } from './group-pieces.ts';

export const groupArrays = (messages: readonly Pick<OutgoingMessage, 'group' | 'order'>[]): Buffer[] => [
  textArray(messages.map(({ group }) => group && storable(group))),
  textArray(messages.map(({ order }) => order ?? null)),
];

/** Answers of a function's call, then the queues in which jobs came forward by it. */
export const thenCame = (call: string): string =>
  `SELECT c.answer, ${cameForward} FROM (SELECT ${call} AS answer OFFSET 0) c`;

/** The names of these queues. @param came as `thenCame` answers it */
export const cameFrom = (came: unknown): string[] => (came ? (came as string).split(' ') : []);
