import * as z from 'zod/mini';

export const payload = z.object({ invoiceId: z.string(), to: z.email() });
