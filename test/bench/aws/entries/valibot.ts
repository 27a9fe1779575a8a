import { email, object, pipe, string } from 'valibot';

export const payload = object({ invoiceId: string(), to: pipe(string(), email()) });
