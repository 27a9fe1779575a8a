import * as z from 'zod';
import { defineJob, exponential, PermanentError, RetryAfterError } from '../../../core/index.ts';
import type { Services } from '../services.ts';

export function callWebhookJob({ webhookUrl }: Services) {
  return defineJob({
    name: 'webhook.call',
    queue: 'webhooks',
    payload: z.object({ event: z.string(), data: z.record(z.string(), z.string()) }),
    maxRetries: 8,
    retry: exponential({ baseMs: 5_000 }),
    timeoutMs: 10_000,
    async handle({ event, data }, ctx) {
      const response = await fetch(webhookUrl, {
        method: 'POST',
        // The job's id stays the same over all attempts, so the receiver can drop a second delivery.
        headers: { 'content-type': 'application/json', 'idempotency-key': ctx.id },
        body: JSON.stringify({ event, data }),
        signal: ctx.signal,
      });
      await response.body?.cancel();
      const { status } = response;
      const retryAfterSeconds = Number(response.headers.get('retry-after') ?? Number.NaN);
      if ((status === 429 || status === 503) && retryAfterSeconds >= 0) {
        throw new RetryAfterError(retryAfterSeconds * 1000, `The receiver is busy (${status}).`);
      }
      if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
        throw new PermanentError(`The receiver refused the call: ${status}.`);
      }
      if (!response.ok) throw new Error(`The receiver answered ${status}.`);
    },
  });
}
