/** Binds a table of checks to the facts that they look at. */

import type { Check, NotChecked, Severity } from '../../contract/diagnosis.ts';

/** Thrown when a fact may not be read, as for lack of permission. Checks that need the fact are skipped. */
export class CannotLook extends Error implements NotChecked {
  get because(): string {
    return this.message;
  }
}

export const checksOf = <Facts>(checks: readonly Check<Facts>[], facts: Facts): Check[] =>
  checks.map(({ id, severity, look }) => ({
    id,
    severity,
    async look() {
      try {
        return await look(facts);
      } catch (error) {
        if (error instanceof CannotLook) return error;
        throw error;
      }
    },
  }));

/** A row of a table of checks; see `Check`. */
export const check = <Facts>(id: string, severity: Severity, look: Check<Facts>['look']): Check<Facts> => ({
  id,
  severity,
  look,
});
