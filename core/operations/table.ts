/** All operations, by the groups and methods of an operator. A surface makes its routes or commands from this. */

import { batches } from './batches.ts';
import { chains } from './chains.ts';

export const operations = { batches, chains };
