import * as z from 'zod';
import { defineJob, PermanentError, type RetryPolicy } from '../../../core/index.ts';
import type { Services } from '../services.ts';

export function capturePaymentJob({ db, paymentUrl }: Services, retry: RetryPolicy) {
  return defineJob({
    name: 'payment.capture',
    queue: 'payments',
    payload: z.object({ orderNo: z.string() }),
    priority: 'critical',
    maxRetries: 4,
    retry,
    timeoutMs: 10_000,
    expiresInMs: 86_400_000, // a payment that could not begin for a day needs a person, not a late surprise
    async handle({ orderNo }, ctx) {
      const order = await db.order(orderNo);
      if (!order) throw new PermanentError(`There is no order ${orderNo}.`);
      const response = await fetch(paymentUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': orderNo },
        body: JSON.stringify({ orderNo, cents: order.quantity * order.unitPriceCents }),
        signal: ctx.signal,
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`The payment gateway answered ${response.status}.`);
      await db.markPaid(orderNo);
    },
  });
}
