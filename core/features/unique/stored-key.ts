/** The active job of a key, as the key store keeps it. */

import { LongshoreError } from '../../base/errors.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { aheadMsOf } from '../../kernel/enqueue/skew.ts';
import { holdKey } from '../../kit/metadata.ts';

export type Sender = Pick<Client, 'app' | 'backend' | 'stores'>;

export interface Standing {
  /** The id of the active job, followed by earlier jobs that may still run; those are kept only with `during: 'running'`. */
  readonly ids: readonly string[];
  /** When it took the key. */
  readonly at: number;
  /** `true` = the queue has the job. Before that its sender may have died. */
  readonly sent: boolean;
  /** By the queue's clock, like `at`; stores expect times of this host's clock. */
  readonly keepUntil: number;
}

/**
 * Holds the key while `change` reads, decides and writes, so that no other caller decides at the same time. Resolves with its result. If it
 * fails, nothing changes.
 */
export async function rewrite<Answer>(
  client: Sender,
  key: string,
  change: (old: Standing | null) => Promise<{ readonly answer: Answer; readonly standing: Standing | null }>,
): Promise<Answer> {
  const { app, stores } = client;
  const { keys } = stores;
  const owner = app.newId();
  const aheadMs = await aheadMsOf(client);
  const { value } = await holdKey(keys, app.clock, key, owner);
  const old = value === null ? null : (JSON.parse(value) as Standing);
  const release = (standing: Standing | null) =>
    keys.release(
      key,
      owner,
      standing ? { value: JSON.stringify(standing), keepUntil: standing.keepUntil - aheadMs } : undefined,
    );
  const { answer, standing } = await change(old).catch(async (error) => {
    await release(old).catch(() => {}); // then the hold expires
    throw error;
  });
  if (!(await release(standing)) && standing?.ids[0] !== old?.ids[0])
    throw new LongshoreError('BACKEND', `Expected to hold the key "${key}" long enough to write it.`);
  return answer;
}
