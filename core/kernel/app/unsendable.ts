/** Finds zod types that no payload can carry, because JSON has no such values. Not loaded when a function starts. */

import type { Job } from './job.ts';

/** The parts of a zod 4 schema that are read here. */
interface Described {
  readonly _zod?: {
    readonly def: {
      readonly type: string;
      readonly coerce?: boolean;
      readonly shape?: Readonly<Record<string, Described>>;
      readonly items?: readonly Described[];
      readonly options?: readonly Described[];
      readonly left?: Described;
      readonly right?: Described;
      readonly in?: Described;
      readonly innerType?: Described;
    };
  };
}

const remedies = {
  date: 'Use z.iso.datetime(), or z.coerce.date() where the handler wants a Date, and send date.toISOString()',
  bigint: 'Use z.coerce.bigint(), and send it as a text',
  map: 'Use z.record(), or z.array() of pairs',
  set: 'Use z.array()',
} as const;

type Kind = keyof typeof remedies;

/** Why no payload can ever fit, with the remedy. `null` = a payload can fit, or the schema does not say. */
export function unsendable({ name, schema }: Job): string | null {
  try {
    const found = find(schema as Described, 'payload', new Set());
    if (!found) return null;
    return `Job "${name}" can never run: ${found.path} is z.${found.kind}(), which JSON cannot carry. ${remedies[found.kind]}.`;
  } catch {
    return null; // the schema refers to a schema that is not defined yet
  }
}

interface Found {
  readonly path: string;
  readonly kind: Kind;
}

/** Looks only at members that every payload must have, not at optional or nullable ones or at items of lists. */
function find(schema: Described | undefined, path: string, seen: Set<unknown>): Found | null {
  const def = schema?._zod?.def;
  if (!def || seen.has(schema)) return null;
  seen.add(schema);
  if (Object.hasOwn(remedies, def.type)) return def.coerce ? null : { path, kind: def.type as Kind };
  switch (def.type) {
    case 'object':
      return first(Object.entries(def.shape ?? {}), ([name, one]) => find(one, `${path}.${name}`, seen));
    case 'tuple':
      return first([...(def.items ?? []).entries()], ([i, one]) => find(one, `${path}[${i}]`, seen));
    case 'intersection':
      return first([def.left, def.right], (one) => find(one, path, seen));
    case 'union': {
      const found = (def.options ?? []).map((one) => find(one, path, seen));
      return found.every((one) => one !== null) ? (found[0] ?? null) : null;
    }
    case 'pipe':
      return find(def.in, path, seen); // the output of a transform is not sent
    case 'readonly':
      return find(def.innerType, path, seen);
    default:
      return null;
  }
}

function first<T>(list: readonly T[], look: (one: T) => Found | null): Found | null {
  for (const one of list) {
    const found = look(one);
    if (found) return found;
  }
  return null;
}
