/** Cells of the table that are not as the others, each with its reason. A cell that is in neither list has to hold. */

import type { EventName } from './events.ts';
import type { FeatureName } from './features.ts';

export type Cell = `${FeatureName} × ${EventName}`;
export type Cells = Readonly<Partial<Record<Cell, string>>>;

/** They say nothing, because … */
export const withoutMeaning: Cells = {};

/** They fail today, because … One that holds fails the test, so that this list can only become shorter. */
export const known: Cells = {};
