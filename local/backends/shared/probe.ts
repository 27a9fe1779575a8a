import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import type { KeyStore } from '../../../core/contract/store.ts';

/** If the process dies between the two writes, a purge removes the key after this time. */
const holdMs = 60_000;

/** `QueueAdmin.probe` for backends whose jobs and keys share a database. */
export const probeKeys = (keys: KeyStore, clock: Clock) => async (): Promise<void> => {
  const [key, owner] = [`longshore.probe.${randomUUID()}`, 'probe'];
  await keys.claim(key, owner, clock.now() + holdMs);
  await keys.release(key, owner);
};
