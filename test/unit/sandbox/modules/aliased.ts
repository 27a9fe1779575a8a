import * as z from 'zod';
import { defineJob } from '../../../../core/index.ts';

export const lost = defineJob({ name: 'lost', payload: z.object({}), handle: () => 'found' });
export const again = lost;
