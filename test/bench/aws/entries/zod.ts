import * as z from 'zod';

export const payload = z.object({ invoiceId: z.string(), to: z.email() });
