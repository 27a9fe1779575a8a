/** The job that stands for a key, as the key store keeps it. */

import { LongshoreError } from '../base/errors.ts';
import type { Client } from '../enqueue/client.ts';
import { holdKey } from '../kit/metadata.ts';

export type Sender = Pick<Client, 'app' | 'backend' | 'stores'>;

export interface Standing {
  /** Its id, and behind it earlier ones that may still run; those are kept with `while: 'running'` alone. */
  readonly ids: readonly string[];
  /** When it took the key. */
  readonly at: number;
  /** The queue has it. Before that its sender may have died. */
  readonly sent: boolean;
  readonly keepUntil: number;
}

/**
 * Holds the key while `change` reads, decides and writes: nobody else decides meanwhile. Resolves with its answer. Where it fails, all
 * stays as it was.
 */
export async function rewrite<Answer>(
  { app, stores: { keys } }: Sender,
  key: string,
  change: (old: Standing | null) => Promise<{ readonly answer: Answer; readonly standing: Standing | null }>,
): Promise<Answer> {
  const owner = app.newId();
  const { value } = await holdKey(keys, app.clock, key, owner);
  const old = value === null ? null : (JSON.parse(value) as Standing);
  const release = (standing: Standing | null) =>
    keys.release(
      key,
      owner,
      standing ? { value: JSON.stringify(standing), keepUntil: standing.keepUntil } : undefined,
    );
  const { answer, standing } = await change(old).catch(async (error) => {
    await release(old).catch(() => {}); // then the hold ends by itself
    throw error;
  });
  if (!(await release(standing)) && standing?.ids[0] !== old?.ids[0])
    throw new LongshoreError('BACKEND', `Expected to hold the key "${key}" long enough to write it.`);
  return answer;
}
