/**
 * A queue in beanstalkd 1.12 or newer, a small, fast server that stores jobs and nothing else. Records, idempotency keys and the
 * reasons of dead letters are kept in `store`.
 */

import type { QueueAdmin } from '../../../core/contract/admin.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { MovableAdmin } from '../../move/contract.ts';
import { beanstalkdAdmin } from './admin.ts';
import { aloneWarning } from './alone.ts';
import { createConsumers } from './consumers.ts';
import { createLeases } from './leases.ts';
import { createLeasing } from './leasing.ts';
import { type BeanstalkdOptions, settingsOf } from './options.ts';
import { createEnqueue, probe } from './sending.ts';
import { createState } from './state.ts';
import { beanstalkdTransfer } from './transfer.ts';

export type { QueueBackend } from '../../../core/contract/queue.ts';
export type { BeanstalkdOptions } from './options.ts';

export function beanstalkd(urlOrOptions: string | BeanstalkdOptions): QueueBackend {
  const settings = settingsOf(typeof urlOrOptions === 'string' ? { url: urlOrOptions } : urlOrOptions);
  const { store, maxBodyBytes } = settings;
  const state = createState(settings);
  const { warnings, stores, link } = state;
  const listeners = new Set<(tokens: ReadonlySet<string>) => void>();
  const leases = createLeases(state, (tokens) => {
    for (const listener of listeners) listener(tokens);
  });
  const consumers = createConsumers(state, leases.lose);
  const leasing = createLeasing(state, consumers, leases);
  const enqueue = createEnqueue(state);
  const admin: QueueAdmin & MovableAdmin = {
    ...beanstalkdAdmin(state),
    probe: () => probe(state),
    diagnose: async () => (await import('./diagnose.ts')).beanstalkdDiagnosis(state),
    partialTransfer: beanstalkdTransfer(state, enqueue),
  };
  let hasWarned = store !== undefined;
  let closing: Promise<void> | null = null;

  async function end(): Promise<void> {
    state.isOpen = false;
    leasing.close();
    leases.close();
    consumers.close();
    link.close();
    await store?.close?.();
  }

  return {
    name: 'beanstalkd',
    limits: { maxBodyBytes, maxDelayMs: null, maxLeaseMs: null },
    stores,
    admin,
    enqueue,
    ack: leases.ack,
    nack: leases.nack,
    abandon: leases.abandon,
    renew: leases.renew,
    reapExpired: leases.reapExpired,
    onWarning: warnings.onWarning,
    hints: {
      watchLeases({ lost }) {
        listeners.add(lost);
        return { hearsCancels: false, stop: () => listeners.delete(lost) };
      },
    },

    async fetch(asked) {
      if (!hasWarned) warnings.warn(aloneWarning);
      hasWarned = true;
      const request = { ...asked, queues: [...new Set(asked.queues)] };
      try {
        const ready = await leasing.lease(request);
        if (ready.length > 0 || request.waitMs <= 0 || request.signal?.aborted || !state.isOpen) return ready;
        return await leasing.wait(request);
      } catch (error) {
        if (state.isOpen) throw error;
        return [];
      } finally {
        consumers.tidy();
      }
    },

    close() {
      closing ??= end();
      return closing;
    },
  };
}
