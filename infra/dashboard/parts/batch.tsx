/** The progress of a batch, and how it ended. */

import type { Batch } from '../../../core/kernel/app/batch.ts';
import { count } from '../data/format.ts';
import { Badge } from './status.tsx';

export const BatchState = ({ batch: { state, outcome } }: { batch: Batch }) => (
  <Badge word={outcome ?? state} />
);

/** Cancelled children are counted as failed. */
export const failedWord = (batch: Batch): string => (isCancelled(batch) ? 'cancelled or failed' : 'failed');

const isCancelled = ({ state }: Batch): boolean => state === 'cancelled' || state === 'cancelling';

export function Share({ batch }: { batch: Batch }) {
  const { percent, total, succeeded, failed } = batch;
  if (percent === null) return <span class="soft">not known yet</span>;
  const words = `${count(succeeded)} succeeded, ${count(failed)} ${failedWord(batch)}`;
  const part = (of: number) => ({ width: total ? `${(of / total) * 100}%` : '0' });
  return (
    <span class="share">
      <span class="parts" role="img" aria-label={words} title={words}>
        <span class="good" style={part(succeeded)} />
        <span class={isCancelled(batch) ? 'plain' : 'bad'} style={part(failed)} />
      </span>
      <span>{percent}%</span>
    </span>
  );
}
