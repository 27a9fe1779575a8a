/** The smallest worker there is. */

import { functionsWith } from './functions.ts';

export const { worker, enqueue, schedule } = functionsWith([]);
