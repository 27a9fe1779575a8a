/** The app whose jobs are in the stored envelopes. It runs on every version, so it imports what is public only. */

import * as z from 'zod/mini';
import { type Contract, createApp, defineJob, fixed, keyRing } from '../../../core/index.ts';

const hourMs = 3_600_000;

/** When they were written, by their own clock. */
export const storedAt = Date.UTC(2026, 0, 1);

/** A clock that runs from there on. */
export function clockAt(start: number) {
  const began = Date.now();
  return {
    now: () => start + Date.now() - began,
    after(delayMs: number, run: () => void) {
      const timer = setTimeout(run, delayMs);
      return () => clearTimeout(timer);
    },
  };
}

type Handle = (to: string) => Promise<unknown>;

export function storedApp(clock: ReturnType<typeof clockAt>, handle: Handle, newId?: () => string) {
  const payload = z.object({ to: z.string(), text: z.optional(z.string()) });
  const send = defineJob({
    name: 'mail.send',
    queue: 'mail',
    payload,
    retry: fixed(hourMs),
    handle: ({ to }) => handle(to),
  });
  const charge = defineJob({
    name: 'card.charge',
    queue: 'cards',
    payload,
    idempotencyKey: ({ to }) => to,
    handle: ({ to }) => handle(to),
  });
  const signing = keyRing([{ kid: 'stored', secret: new Uint8Array(32).fill(1) }]);
  const app = createApp({ jobs: [send, charge], signing, clock, ...(newId && { newId }) });
  return { app, send, charge };
}

/** Payloads too large for an envelope. */
export function payloadsIn(kept: Map<string, Uint8Array>): Contract.PayloadStore {
  return {
    put: async (key, bytes) => void kept.set(key, bytes),
    get: async (key) => kept.get(key) ?? null,
    delete: async (key) => void kept.delete(key),
  };
}
