/** Where the tables of clouds keep texts: keys, those of limits and batches, those of steps, and all others apart, as version 0.1.0 has put them. */

import type { NamedText, TextRange } from '../../contract/texts.ts';
import { sortable } from '../records/sortable.ts';

export type Kind<Place> = Place & {
  /** What names of the kind begin with. Their places are made of the rest. */
  readonly begin: string;
};

export function kindsOf<Place>(
  places: Readonly<Record<'keys' | 'limits' | 'batches' | 'others' | 'steps', Place>>,
) {
  const listed: readonly Kind<Place>[] = [
    { begin: 'limit/', ...places.limits },
    { begin: 'batch/', ...places.batches },
    { begin: '', ...places.others },
  ];
  /** Nobody lists these. */
  const steps: Kind<Place> = { begin: '', ...places.steps };
  const keys: Kind<Place> = { begin: 'key/', ...places.keys };
  return {
    of(name: string): Kind<Place> {
      if (name.startsWith(keys.begin)) return keys;
      return /^(job|event|result):/.test(name) ? steps : listed.find(({ begin }) => name.startsWith(begin))!;
    },
    /** @param ofKind lists the texts of a kind alone */
    async list(
      { prefix, max }: TextRange,
      ofKind: (kind: Kind<Place>) => Promise<readonly NamedText[]>,
    ): Promise<NamedText[]> {
      // A beginning of one kind is of no other.
      const own = listed.find(({ begin }) => begin !== '' && prefix.startsWith(begin));
      const asked = own ? [own] : listed.filter(({ begin }) => begin === '' || begin.startsWith(prefix));
      const pages = await Promise.all(asked.map(ofKind));
      return pages
        .flat()
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .slice(0, max);
    },
  };
}

/** Where a name stands among those of a kind. @param behind all of them */
export function rankAmong({ begin }: Kind<unknown>, name: string, behind: string): string {
  if (name.startsWith(begin)) return sortable(name.slice(begin.length));
  return name < begin ? '' : behind;
}
