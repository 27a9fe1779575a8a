/** The requirements of unique jobs on a backend. */

import { config } from '../../base/errors.ts';
import type { UniqueRule } from '../../kernel/app/unique.ts';
import { type Abilities, abilitiesOf, type Needs } from '../../kernel/enqueue/abilities.ts';
import type { Client } from '../../kernel/enqueue/client.ts';

export const needsOfUnique: Needs = ({ jobs }, it) =>
  jobs.flatMap(({ name, unique }) => {
    const text = unique && uniqueFault(it, name, unique);
    const feature = unique?.waitMs === undefined ? 'unique' : 'debounce';
    return text ? [{ of: `job "${name}"`, feature, text }] : [];
  });

/** Checks the rule of one call. Throws `CONFIG`. */
export function checkUnique(
  client: Pick<Client, 'backend' | 'stores'>,
  job: string,
  rule: UniqueRule<unknown>,
): void {
  const fault = uniqueFault(abilitiesOf(client), job, rule);
  if (fault !== null) throw config(fault);
}

function uniqueFault(
  it: Abilities,
  job: string,
  { onConflict, during: time }: UniqueRule<unknown>,
): string | null {
  if (onConflict === 'replace' && !it.replaces)
    return `Job "${job}" replaces a waiting job, which backend "${it.name}" cannot do. Use unique with onConflict: 'skip', or a backend that can: docs/backends.md.`;
  if (!it.records && typeof time !== 'object')
    return `Backend "${it.name}" keeps no records, so it cannot tell whether a job with the unique key of "${job}" waits or runs: give it a store, for example sqliteStore(), or use during: { forMs }.`;
  return null;
}
