/** Cells of the table that are not as the others, each with its reason. A cell that is in neither list has to hold. */

import type { EventName } from './events.ts';
import type { FeatureName } from './features.ts';

export type Cell = `${FeatureName} × ${EventName}`;
export type Cells = Readonly<Partial<Record<Cell, string>>>;

/** They say nothing, because … */
export const withoutMeaning: Cells = {};

const retriedChild = 'a dead child that is retried by itself and completes is not counted by its batch';

/** They fail today, because … One that holds fails the test, so that this list can only become shorter. */
export const known: Cells = {
  'batch × retry of a dead letter': retriedChild,
  'batch × edit of a dead letter': retriedChild,
  'batch with allowed failures × retry of a dead letter': retriedChild,
  'batch with allowed failures × edit of a dead letter': retriedChild,
  'nested batch × retry of a dead letter': retriedChild,
  'nested batch × edit of a dead letter': retriedChild,
};
