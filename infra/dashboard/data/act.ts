/** Changes by users, and the notices of their results. */

import { useState } from 'preact/hooks';
import type { Done } from '../../../core/surfaces/dashboard/api.ts';
import { send, session, wordsOf } from './client.ts';
import { createStore, useStore } from './store.ts';

export interface Notice {
  readonly key: number;
  readonly text: string;
  readonly failed: boolean;
  /** The id of the job. */
  readonly jobId: string | null;
}

export const notices = createStore<readonly Notice[]>([]);
let lastKey = 0;

export function notify(text: string, { failed = false, jobId = null as string | null } = {}): void {
  lastKey += 1;
  const key = lastKey;
  notices.set([...notices.get().slice(-3), { key, text, failed, jobId }]);
  // An error stays until it is closed, because the user has to act on it.
  if (!failed) setTimeout(() => dismiss(key), 8_000);
}

export function dismiss(key: number): void {
  notices.set(notices.get().filter((one) => one.key !== key));
}

export const useMayAct = (): boolean => useStore(session)?.role === 'operator';

/** @returns whether work is in progress, and a function that starts it; that resolves when the work has ended, and shows a failure itself */
export function useBusy(): [boolean, (work: () => Promise<void>) => Promise<void>] {
  const [busy, setBusy] = useState(false);
  async function run(work: () => Promise<void>): Promise<void> {
    setBusy(true);
    try {
      await work();
    } catch (error) {
      notify(wordsOf(error), { failed: true });
    }
    setBusy(false);
  }
  return [busy, run];
}

/** The same for a change whose result the server reports. */
export function useAct(after: () => void): [boolean, (path: string, body?: unknown) => Promise<void>] {
  const [busy, run] = useBusy();
  const act = (path: string, body?: unknown): Promise<void> =>
    run(async () => {
      const { message, id } = await send<Done>(path, body);
      notify(message, { jobId: id ?? null });
      after();
    });
  return [busy, act];
}
