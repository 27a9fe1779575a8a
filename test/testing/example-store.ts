/** The stores of the example: texts, from which the kit makes all other stores, and the records of queues that keep none. */

import type { Clock } from '../../core/base/clock.ts';
import type { KeyStore, Retention, Stores } from '../../core/contract/store.ts';
import type { NamedText, TextStore } from '../../core/contract/texts.ts';
import { recordTable } from '../../core/kit/in-memory/record-table.ts';
import { keyStore, textKeys } from '../../core/kit/records/keys.ts';
import { recordStore } from '../../core/kit/records/store.ts';
import { sectionOf } from '../../core/kit/texts/section.ts';
import { storesOf } from '../../core/kit/texts/stores.ts';

export interface ExampleStoreOptions {
  readonly clock: Clock;
  readonly retention?: Partial<Retention>;
}

export function exampleStore({ clock, retention }: ExampleStoreOptions): Stores {
  const texts = exampleTexts(clock);
  return {
    keys: exampleKeys(texts, clock),
    records: recordStore(recordTable(texts.purge), { clock, retention }),
    ...storesOf(texts, clock),
  };
}

/** Idempotency keys are texts, too. */
export const exampleKeys = (texts: TextStore, clock: Clock): KeyStore =>
  keyStore(textKeys(sectionOf(texts, 'key/')), clock);

interface Row extends NamedText {
  readonly endsAt: number | null;
}

/** These four methods store keys, steps, schedules, metrics, the audit log, heartbeats, limits and batches. */
export function exampleTexts(clock: Clock): TextStore & { purge(): number } {
  const rows = new Map<string, Row>();
  let writes = 0;

  /** If two writers have read the same version of a text, only one succeeds. */
  const isAt = (name: string, version: string | null | undefined): boolean =>
    version === undefined || version === (rows.get(name)?.version ?? null);
  const textOf = ({ name, text, version }: Row): NamedText => ({ name, text, version });

  return {
    async read(names) {
      return names.map((name) => {
        const row = rows.get(name);
        return row ? textOf(row) : null;
      });
    },
    async write(texts) {
      return texts.map(({ name, text, endsAt, ifVersion }) => {
        if (!isAt(name, ifVersion)) return null;
        const version = `${++writes}`;
        rows.set(name, { name, text, version, endsAt });
        return version;
      });
    },
    async remove(texts) {
      return texts.map(({ name, ifVersion }) => isAt(name, ifVersion) && rows.delete(name));
    },
    async list({ prefix, after = '', before, max }) {
      const isWanted = ({ name }: Row): boolean =>
        name.startsWith(prefix) && name > after && (before === undefined || name < before);
      return [...rows.values()]
        .filter(isWanted)
        .sort((a, b) => (a.name < b.name ? -1 : 1))
        .slice(0, max)
        .map(textOf);
    },
    /** Removes expired texts and returns how many. */
    purge() {
      const expired = [...rows.values()].filter(({ endsAt }) => endsAt !== null && endsAt <= clock.now());
      for (const { name } of expired) rows.delete(name);
      return expired.length;
    },
  };
}
