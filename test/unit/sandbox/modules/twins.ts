import * as z from 'zod';
import { defineJob } from '../../../../core/index.ts';

export const one = defineJob({ name: 'lost', payload: z.object({}), handle: () => 1 });
export const two = defineJob({ name: 'lost', payload: z.object({}), handle: () => 2 });
