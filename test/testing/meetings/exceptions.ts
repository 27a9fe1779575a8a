/** Cells of the table that are not as the others, each with its reason. A cell that is in neither list has to hold. */

import type { EventName } from './events.ts';
import type { FeatureName } from './features.ts';

export type Cell = `${FeatureName} × ${EventName}`;
export type Cells = Readonly<Partial<Record<Cell, string>>>;

/** They say nothing, because … */
export const withoutMeaning: Cells = {};

const removedChild =
  'a child that is removed or cleared is known to nobody, and its batch waits for it for an hour';
const retriedChild = 'a dead child that is retried by itself and completes is not counted by its batch';

/** They fail today, because … One that holds fails the test, so that this list can only become shorter. */
export const known: Cells = {
  'batch × remove': removedChild,
  'batch × clear': removedChild,
  'batch × retry of a dead letter': retriedChild,
  'batch × edit of a dead letter': retriedChild,
  'batch with allowed failures × remove': removedChild,
  'batch with allowed failures × clear': removedChild,
  'batch with allowed failures × retry of a dead letter': retriedChild,
  'batch with allowed failures × edit of a dead letter': retriedChild,
  'nested batch × remove': removedChild,
  'nested batch × clear': removedChild,
  'nested batch × retry of a dead letter': retriedChild,
  'nested batch × edit of a dead letter': retriedChild,
};
