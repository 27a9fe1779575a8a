import { randomBytes } from 'node:crypto';
import { slices } from '../../../core/base/slices.ts';
import type { NamedText, TextStore } from '../../../core/contract/texts.ts';
import { type createLink, scripts } from './connection.ts';

/** The server does nothing else while a script runs. */
const mostPerCall = 200;
const mostLooks = 2_000;
const purgeSize = 500;

/** A row is a version of this length, then the text. */
const versionLength = 16;
const newVersion = (): string => randomBytes(12).toString('base64url');

const textOf = (row: string) => ({ text: row.slice(versionLength), version: row.slice(0, versionLength) });

/**
 * Redis sorts names by UTF-8 bytes, the `TextStore` contract by UTF-16 units. The two orders differ from U+D800 on, so each such unit becomes
 * a character of plane 15. This gives the same order and keeps lone surrogates.
 */
const keyOf = (name: string): string =>
  name.replace(/[\ud800-\uffff]/g, (unit) => String.fromCodePoint(0xf0000 + unit.charCodeAt(0)));
const nameOf = (key: string): string =>
  key.replace(/[\u{fd800}-\u{fffff}]/gu, (one) => String.fromCharCode(one.codePointAt(0)! - 0xf0000));
/** Sorts after all names with this prefix. */
const endOf = (key: string): string => `${key}\u{10ffff}`;

export type RedisTexts = ReturnType<typeof redisTexts>;

export function redisTexts({
  link,
  prefix,
}: {
  link: Pick<ReturnType<typeof createLink>, 'run' | 'send'>;
  prefix: string;
}) {
  const base = `${prefix}:{texts}`;
  const call = (during: string, ...args: readonly string[]): Promise<unknown> =>
    link.run(during, scripts.texts, base, args);

  /** One page of a range of names, and where the next one begins. */
  async function page(from: string, to: string, containing: string, max: number) {
    const most = Math.min(max, mostPerCall);
    const looks = containing === '' ? most : mostLooks;
    const answer = await call('listing texts', 'list', from, to, containing, `${most}`, `${looks}`);
    const [last, ...pairs] = answer as string[];
    const found: NamedText[] = [];
    for (let i = 0; i + 1 < pairs.length; i += 2)
      found.push({ name: nameOf(pairs[i]!), ...textOf(pairs[i + 1]!) });
    return { found, last: found.length === most ? pairs.at(-2)! : last! };
  }

  return {
    async read(names) {
      const found: (string | null)[] = [];
      for (const some of slices(names, mostPerCall)) {
        const asked = ['HMGET', `${base}:rows`, ...some.map(keyOf)];
        found.push(...((await link.send('reading texts', asked)) as (string | null)[]));
      }
      return found.map((row) => (row === null ? null : textOf(row)));
    },
    async write(texts) {
      const versions: (string | null)[] = [];
      for (const some of slices(texts, mostPerCall)) {
        const fresh = some.map(newVersion);
        const args = some.flatMap(({ name, text, ifVersion, endsAt }, i) => [
          ...[keyOf(name), ifVersion === undefined ? '*' : (ifVersion ?? '')],
          ...[endsAt === null ? '' : `${endsAt}`, fresh[i]! + text],
        ]);
        const answers = (await call('writing texts', 'write', ...args)) as number[];
        versions.push(...answers.map((done, i) => (done === 1 ? fresh[i]! : null)));
      }
      return versions;
    },
    async remove(texts) {
      const gone: boolean[] = [];
      for (const some of slices(texts, mostPerCall)) {
        const args = some.flatMap(({ name, ifVersion = '*' }) => [keyOf(name), ifVersion]);
        const answers = (await call('removing texts', 'remove', ...args)) as number[];
        gone.push(...answers.map((count) => count === 1));
      }
      return gone;
    },
    async list({ prefix, after = '', before, containing = '', max }) {
      const [begin, behind] = [keyOf(prefix), keyOf(after)];
      const to = before === undefined ? endOf(begin) : [endOf(begin), keyOf(before)].sort(inBytes)[0]!;
      const found: NamedText[] = [];
      let from = behind >= begin && after !== '' ? `(${behind}` : `[${begin}`;
      while (found.length < max) {
        const next = await page(from, `(${to}`, keyOf(containing), max - found.length);
        found.push(...next.found);
        if (next.last === '') break;
        from = `(${next.last}`;
      }
      return found;
    },
    /** One step: call it until it returns 0. */
    purgeEnded: (now: number) => call('purging texts', 'purge', `${now}`, `${purgeSize}`) as Promise<number>,
  } satisfies TextStore & { purgeEnded(now: number): Promise<number> };
}

const inBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));
