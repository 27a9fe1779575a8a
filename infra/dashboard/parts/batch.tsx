/** How far a batch is. */

import type { Batch } from '../../../core/app/batch.ts';
import { Badge } from './status.tsx';

/** Complete is not yet well. */
export function BatchState({ batch: { state, failed } }: { batch: Batch }) {
  return state === 'complete' && failed > 0 ? <Badge word={state} tone="warn" /> : <Badge word={state} />;
}

export function Share({ batch: { percent } }: { batch: Batch }) {
  if (percent === null) return <span class="soft">not known yet</span>;
  return (
    <span class="share">
      <progress aria-label="Children that have ended" max={100} value={percent} />
      <span>{percent}%</span>
    </span>
  );
}
