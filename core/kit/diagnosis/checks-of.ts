/** Checks of a table, with the facts that they look at. */

import type { Check } from '../../contract/diagnosis.ts';

export const checksOf = <Facts>(checks: readonly Check<Facts>[], facts: Facts): Check[] =>
  checks.map(({ id, severity, look }) => ({ id, severity, look: () => look(facts) }));
