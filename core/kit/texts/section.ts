/** The texts of one kind. Their names share a prefix, which the caller never sees. */

import type { NamedText, SqlTransaction, StoredText, TextRange, TextStore } from '../../contract/texts.ts';

export type Section = ReturnType<typeof sectionOf>;

/** @param prefix not shared with another section */
export function sectionOf(texts: TextStore, prefix: string) {
  const { mostBytes = Infinity, pauseMs = 0 } = texts;

  const verbsOf = (verbs: Pick<TextStore, 'read' | 'write' | 'remove'>) => ({
    read: async (name: string): Promise<StoredText | null> => (await verbs.read([prefix + name]))[0] ?? null,
    /** As `TextStore.write`, for one text. @param ifVersion absent = overwrite any version */
    async write(
      name: string,
      text: string,
      ifVersion: string | null | undefined,
      endsAt: number | null,
    ): Promise<string | null> {
      const end = endsAt === null || endsAt >= Number.MAX_SAFE_INTEGER ? null : Math.ceil(endsAt);
      const how = { name: prefix + name, text, endsAt: end, ...(ifVersion !== undefined && { ifVersion }) };
      return (await verbs.write([how]))[0] ?? null;
    },
    /** @param ifVersion absent = remove any version */
    remove: async (name: string, ifVersion?: string): Promise<boolean> =>
      (await verbs.remove([{ name: prefix + name, ...(ifVersion !== undefined && { ifVersion }) }]))[0] ===
      true,
  });

  async function range({ prefix: begin, after, before, ...rest }: TextRange): Promise<NamedText[]> {
    if (rest.max < 1) return [];
    const found = await texts.list({
      ...rest,
      prefix: prefix + begin,
      ...(after !== undefined && { after: prefix + after }),
      ...(before !== undefined && { before: prefix + before }),
    });
    return found.map((text) => ({ ...text, name: text.name.slice(prefix.length) }));
  }

  return {
    pauseMs,
    fits: (text: string): boolean => text.length * 3 <= mostBytes || Buffer.byteLength(text) <= mostBytes,
    ...verbsOf(texts),
    readAll: (names: readonly string[]) => texts.read(names.map((name) => prefix + name)),
    writeAll: (all: readonly { readonly name: string; readonly text: string; readonly endsAt: number }[]) =>
      texts.write(all.map((one) => ({ ...one, name: prefix + one.name }))),
    removeAll: (names: readonly string[]) => texts.remove(names.map((name) => ({ name: prefix + name }))),
    range,
    list: (begin: string, after: string, max: number) => range({ prefix: begin, after, max }),
    ...(texts.within && { within: (tx: SqlTransaction) => verbsOf(texts.within!(tx)) }),
  };
}
