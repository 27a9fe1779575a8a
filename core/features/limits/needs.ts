/** What limits and breakers need of a backend. */

import type { Limit } from '../../kernel/app/flow-control.ts';
import { type Abilities, type Needs, noStore, type Unmet } from '../../kernel/enqueue/abilities.ts';

export const needsOfLimits: Needs = ({ jobs, rules }, it) => [
  ...jobs.flatMap(({ name, breaker, limits }) => {
    const of = `job "${name}"`;
    const text = breaker && it.mostSlots === 0 ? noStore(`Job "${name}" has a breaker`, it) : null;
    return [...(text ? [{ of, feature: 'breaker', text }] : []), ...unmetLimits(of, limits, it)];
  }),
  ...rules.flatMap(([queue, { limits }]) => unmetLimits(`queue "${queue}"`, limits, it)),
];

const unmetLimits = (of: string, limits: readonly Limit[] | null, it: Abilities): Unmet[] =>
  (limits ?? []).flatMap((limit) => {
    const text = limitFault(limit, it);
    return text === null ? [] : [{ of, feature: limit.kind, text }];
  });

function limitFault({ of, kind, slots, holdMs }: Limit, it: Abilities): string | null {
  const perSecond = kind === 'rate' ? (slots * 1_000) / holdMs! : 0;
  if (it.mostSlots === 0) return noStore(`${of} has a limit`, it);
  if (slots > it.mostSlots)
    return `Expected the limit of ${kind} of ${of} to be at most ${it.mostSlots}, which is what the store of backend "${it.name}" can count, got ${slots}. Use a smaller limit,${kind === 'rate' ? ' smooth: true,' : ''} or another store.`;
  if (perSecond > it.mostPerSecond(slots))
    return `The rate of ${of} can never be reached: ${slots} in ${holdMs} ms are ${Math.ceil(perSecond)} a second, and the store of backend "${it.name}" gives out ${it.mostPerSecond(slots)} of ${slots} slots a second. Use smooth: true, fewer in a shorter perMs, or another store.`;
  return null;
}
