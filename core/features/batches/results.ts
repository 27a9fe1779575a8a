/** The results of the children of a batch: one text per child in the step store. */

import { LongshoreError } from '../../base/errors.ts';
import type { StepStore, StepText } from '../../contract/derived/steps.ts';
import { childId } from '../../envelope/flow-ids.ts';
import type { Client } from '../../kernel/enqueue/client.ts';
import { forEach } from '../../kit/parallel.ts';
import { swap } from '../../kit/records/swap.ts';
import { signed, verified } from './sign.ts';

type ResultClient = Pick<Client, 'app' | 'stores'>;

/** Longer than an inactive batch is kept. */
const keepMs = 100 * 86_400_000;
/** The most children of a batch with results. */
export const mostResults = 10_000;
/** The most characters of all results together: they are held in memory. */
const mostChars = 64 * 1_048_576;

const nameOf = (batch: string, number: number): string => `result:${batch}:${number}`;
const subjectOf = (batch: string, number: number): string => `result ${number} of batch ${batch}`;

/** Called before the child is counted. A child that runs again overwrites its result. */
export async function keepResult(
  client: ResultClient,
  batch: string,
  number: number,
  output: string,
): Promise<void> {
  const endsAt = client.app.clock.now() + keepMs;
  const text = signed(client.app, subjectOf(batch, number), output);
  await swap(client.stores.steps!, nameOf(batch, number), undefined, () => ({
    answer: undefined,
    text,
    endsAt,
  }));
}

/** A dead letter of a complete batch was retried: its result is withdrawn. */
export async function takeBack({ stores }: ResultClient, batch: string, number: number): Promise<void> {
  const store = stores.batches!;
  const state = await store.get(batch);
  if (!state || state.completedAt === null || state.cancelledAt !== null || state.failed === 0) return;
  const [failed] = await store.failed(batch, number, 1);
  if (failed === number) await store.reopen(batch, [number]);
}

export interface KeptResults {
  /** In the order of the children; `undefined` if there is no result. */
  readonly values: readonly unknown[];
  remove(): Promise<void>;
}

/** Throws `LIMIT` if all results together are too large, and `SIGNATURE` or `UNKNOWN_KEY` for a result that no worker has written. */
export async function readResults(
  { app, stores }: ResultClient,
  batch: string,
  count: number,
): Promise<KeptResults> {
  const store = stores.steps!;
  const texts: (StepText | null)[] = new Array(count).fill(null);
  const values: unknown[] = new Array(count);
  let chars = 0;
  await forEach(texts.keys(), async (number) => {
    const text = await store.read(nameOf(batch, number));
    texts[number] = text;
    chars += text?.text.length ?? 0;
    if (chars > mostChars)
      throw new LongshoreError(
        'LIMIT',
        `Expected the results of batch ${batch} to have at most ${mostChars} characters together, got more. Return ids, and keep the data elsewhere.`,
      );
    values[number] = text
      ? JSON.parse(verified(app, subjectOf(batch, number), text.text))
      : await recorded(stores, batch, number);
  });
  return { values, remove: () => removeAll(store, batch, texts) };
}

/** The result from the record, for a child of a release that kept no results. */
async function recorded({ records }: Client['stores'], batch: string, number: number): Promise<unknown> {
  const record = await records.get(childId(batch, number));
  return record?.status === 'completed' ? record.output : undefined;
}

/** Leftovers expire by themselves. */
async function removeAll(
  store: StepStore,
  batch: string,
  texts: readonly (StepText | null)[],
): Promise<void> {
  await forEach(texts.entries(), async ([number, text]) => {
    if (text) await store.remove(nameOf(batch, number), text.version);
  });
}
