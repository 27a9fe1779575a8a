/** Exports a job, but not the one that is looked for. */

import * as z from 'zod';
import { defineJob } from '../../../../core/index.ts';

export const other = defineJob({ name: 'other', payload: z.object({}), handle: () => {} });
const lost = defineJob({ name: 'lost', payload: z.object({}), handle: () => {} });
export const list = [lost];
