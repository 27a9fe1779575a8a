import type { DeadLetter } from '../../contract/admin.ts';

/**
 * Copies of one message share id and text. A queue that releases a message as a copy may keep both when its worker dies in between, and both may die.
 * Another text under the same id is no copy: it may be forged.
 */
export const textOfDeadLetter = ({ id, body }: Pick<DeadLetter, 'id' | 'body'>): string => `${id}\n${body}`;
