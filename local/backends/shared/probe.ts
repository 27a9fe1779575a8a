import { randomUUID } from 'node:crypto';
import type { Clock } from '../../../core/base/clock.ts';
import type { KeyStore } from '../../../core/contract/store.ts';

/** When a process has died between the two writes, a purge removes the key after this. */
const holdMs = 60_000;

/** `QueueAdmin.probe`, where jobs and keys share a database. */
export const probeKeys = (keys: KeyStore, clock: Clock) => async (): Promise<void> => {
  const [key, owner] = [`longshore.probe.${randomUUID()}`, 'probe'];
  await keys.claim(key, owner, clock.now() + holdMs);
  await keys.release(key, owner);
};
