import type { DeadLetter } from '../../contract/admin.ts';

/**
 * Equal for copies of one message. A queue that releases a message as a copy may keep both when the worker dies in between, and both
 * may become dead letters. Another text under the same id is no copy: it may be forged.
 */
export const textOfDeadLetter = ({ id, body }: Pick<DeadLetter, 'id' | 'body'>): string => `${id}\n${body}`;
