import * as z from 'zod';
import { defineJob } from '../../../core/index.ts';

export const leaderJob = defineJob({ name: 'job', payload: z.object({}), handle: async () => process.pid });
