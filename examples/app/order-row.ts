/** One line of an order export, checked: what a CSV file calls a row becomes what the shop calls an order. */

import * as z from 'zod';
import type { OrderRow } from './database.ts';

export const orderRow = z
  .object({
    order_no: z.string().min(1),
    customer_no: z.string().min(1),
    name: z.string().min(1),
    email: z.email(),
    city: z.string(),
    item: z.string().min(1),
    quantity: z.coerce.number().int().min(1),
    unit_price_cents: z.coerce.number().int().min(0),
    ordered_on: z.iso.date(),
  })
  .transform(
    (row): OrderRow => ({
      orderNo: row.order_no,
      customerNo: row.customer_no,
      name: row.name,
      email: row.email,
      city: row.city,
      item: row.item,
      quantity: row.quantity,
      unitPriceCents: row.unit_price_cents,
      orderedOn: row.ordered_on,
    }),
  );

/** `email: Invalid email address; quantity: …`, on one line. */
export function problemOf(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ');
}
