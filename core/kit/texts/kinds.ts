/** Where the cloud tables keep texts. Keys, limits, batches, steps and all others have separate places, the same as in version 0.1.0. */

import type { NamedText, TextRange } from '../../contract/texts.ts';
import { sortable } from '../records/sortable.ts';

export type Kind<Place> = Place & {
  /** Prefix of the names. The rest of a name makes its place. */
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
  /** Never listed. */
  const steps: Kind<Place> = { begin: '', ...places.steps };
  const keys: Kind<Place> = { begin: 'key/', ...places.keys };
  return {
    of(name: string): Kind<Place> {
      if (name.startsWith(keys.begin)) return keys;
      return /^(job|piece|event|result):/.test(name)
        ? steps
        : listed.find(({ begin }) => name.startsWith(begin))!;
    },
    /** @param ofKind lists the texts of one kind */
    async list(
      { prefix, max }: TextRange,
      ofKind: (kind: Kind<Place>) => Promise<readonly NamedText[]>,
    ): Promise<NamedText[]> {
      // The prefix of a kind belongs to no other kind.
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

/** The position of a name among the names of a kind. @param behind the position after all of them */
export function rankAmong({ begin }: Kind<unknown>, name: string, behind: string): string {
  if (name.startsWith(begin)) return sortable(name.slice(begin.length));
  return name < begin ? '' : behind;
}
