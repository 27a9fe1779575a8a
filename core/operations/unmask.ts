/** A payload that people have edited: what they were shown as `[masked]` keeps its value. */

import { LongshoreError } from '../base/errors.ts';
import { isSecret, maskedSign } from '../base/mask.ts';

/**
 * Members of a list are compared by their position, where it is as long as before. Throws `PAYLOAD` for a masked member that had no
 * value before: the sign would become the secret itself.
 */
export const unmasked = (given: unknown, old: unknown): unknown => restored(given, old, 'payload');

function restored(given: unknown, old: unknown, path: string): unknown {
  if (typeof given !== 'object' || given === null) return given;
  if (Array.isArray(given)) {
    const olds: unknown[] = Array.isArray(old) && old.length === given.length ? old : [];
    return given.map((item, i) => restored(item, olds[i], `${path}[${i}]`));
  }
  const olds = typeof old === 'object' && old !== null && !Array.isArray(old) ? old : {};
  return Object.fromEntries(
    Object.entries(given).map(([name, member]) => {
      const before = Object.hasOwn(olds, name) ? (olds as Record<string, unknown>)[name] : undefined;
      if (member !== maskedSign || !isSecret(name))
        return [name, restored(member, before, `${path}.${name}`)];
      if (before !== undefined) return [name, before];
      const at = `${path}.${name}`.slice(0, 120);
      throw new LongshoreError(
        'PAYLOAD',
        `Expected a value at ${at}, got ${maskedSign}: the old payload has none there that could be kept. Write the value.`,
      );
    }),
  );
}
