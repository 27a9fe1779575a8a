import type { Clock } from '../../../core/base/clock.ts';
import type { DerivedStores } from '../../../core/contract/store.ts';
import type { NamedText, TextStore } from '../../../core/contract/texts.ts';
import { batchStore } from '../../../core/kit/records/batches.ts';
import { limitStore } from '../../../core/kit/records/limits.ts';
import { textAudit } from '../../../core/kit/texts/audit.ts';
import { textMetrics } from '../../../core/kit/texts/metrics.ts';
import { textSchedules } from '../../../core/kit/texts/schedules.ts';
import { sectionOf } from '../../../core/kit/texts/section.ts';
import { storesOf } from '../../../core/kit/texts/stores.ts';
import { type Purgeable, purgeEnded } from './keys.ts';

interface Row extends NamedText {
  readonly endsAt: number;
}

export function memoryTexts(clock: Clock): TextStore & Purgeable {
  const rows = new Map<string, Row>();
  let writes = 0;
  /** Sorted names; `null` = to be sorted again by the next list. */
  let names: readonly string[] | null = [];

  function firstAtOrBehind(wanted: string): number {
    let [low, high] = [0, names!.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (names![middle]! < wanted) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    read: async (wanted) =>
      wanted.map((name) => {
        const row = rows.get(name);
        return row ? { text: row.text, version: row.version } : null;
      }),
    write: async (texts) =>
      texts.map(({ name, text, ifVersion, endsAt }) => {
        const there = rows.get(name);
        if (ifVersion !== undefined && ifVersion !== (there?.version ?? null)) return null;
        if (!there) names = null;
        const version = String(++writes);
        rows.set(name, { name, text, version, endsAt: endsAt ?? Infinity });
        return version;
      }),
    remove: async (removals) =>
      removals.map(({ name, ifVersion }) => {
        const there = rows.get(name);
        if (!there || (ifVersion !== undefined && ifVersion !== there.version)) return false;
        names = null;
        return rows.delete(name);
      }),
    async list({ prefix, after = '', before, max }) {
      names ??= [...rows.keys()].sort();
      const found: NamedText[] = [];
      for (let i = firstAtOrBehind(after > prefix ? after : prefix); i < names.length; i++) {
        const name = names[i]!;
        if (found.length >= max || !name.startsWith(prefix) || (before !== undefined && name >= before))
          break;
        if (name <= after) continue;
        const { text, version } = rows.get(name)!;
        found.push({ name, text, version });
      }
      return found;
    },
    purgeEnded() {
      names = null;
      return purgeEnded(rows, clock.now(), ({ endsAt }) => endsAt);
    },
  };
}

/** The stores with all their code loaded: tests move the clock of this backend, and loading code later would take real time. */
export const memoryStores = (
  texts: TextStore,
  clock: Clock,
): DerivedStores & { readonly texts: TextStore } => ({
  ...storesOf(texts, clock),
  schedules: textSchedules(texts, clock),
  metrics: textMetrics(texts),
  audit: textAudit(texts),
  limits: limitStore(sectionOf(texts, 'limit/'), clock),
  batches: batchStore(sectionOf(texts, 'batch/'), clock),
});
