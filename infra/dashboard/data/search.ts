/** Parses the text of a search box into a filter: `status:failed job:"send mail" 01J8` (a word without a colon is the beginning of an id). */

export interface SearchField {
  /** The word before the colon. */
  readonly word: string;
  /** The member of the server's filter. */
  readonly member: string;
  readonly label: string;
  readonly choices?: readonly string[];
  /** A time: entered as a date or as an age (`2h`, `3d`). */
  readonly isMoment?: true;
}

/** A field for the backend, if there are several. */
export const backendField = (backends: readonly string[]): readonly SearchField[] =>
  backends.length > 1 ? [{ word: 'backend', member: 'backend', label: 'Backend', choices: backends }] : [];

export type Filter = Readonly<Record<string, string>>;

const token = /(?:(?<word>[a-z]+):)?(?:"(?<quoted>(?:[^"\\]|\\.)*)"|(?<plain>\S+))/gi;

export interface Search {
  readonly filter: Filter;
  /** An error for the user. */
  readonly problems: readonly string[];
}

const ages: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** Epoch ms. */
export function readMoment(text: string, now: number): number | null {
  const [, number, unit] = /^(\d+)([mhdw])$/.exec(text) ?? [];
  if (number !== undefined) return now - Number(number) * ages[unit!]!;
  if (/^\d{12,}$/.test(text)) return Number(text);
  const at = Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

/** The filter in an address. */
export function filterIn(query: URLSearchParams, fields: readonly SearchField[], alone: string): Filter {
  const members = new Set([alone, ...fields.map(({ member }) => member)]);
  return Object.fromEntries([...query].filter(([name]) => members.has(name)));
}

/** @param alone the member that a word without a colon is for */
export function readSearch(text: string, fields: readonly SearchField[], alone: string, now: number): Search {
  const filter: Record<string, string> = {};
  const problems: string[] = [];
  for (const { groups } of text.matchAll(token)) {
    const word = groups!.word?.toLowerCase();
    const value = groups!.quoted?.replaceAll(/\\(.)/g, '$1') ?? groups!.plain!;
    const field = fields.find((one) => one.word === word);
    if (word === undefined) filter[alone] = value;
    else if (field === undefined) {
      const known = fields.map((one) => `${one.word}:`).join(' ');
      problems.push(`"${word}:" is no filter. There are ${known}`);
    } else if (field.isMoment) {
      const at = readMoment(value, now);
      if (at === null)
        problems.push(`${word}: is a date like 2026-11-23 or 2026-11-23T10:00, or an age like 2h or 3d.`);
      else filter[field.member] = String(at);
    } else if (field.choices && !field.choices.includes(value) && field.word === 'status')
      problems.push(`${word}: is one of ${field.choices.join(', ')}.`);
    else filter[field.member] = value;
  }
  return { filter, problems };
}

/** The text that parses to this filter. */
export function writeSearch(filter: Filter, fields: readonly SearchField[], alone: string): string {
  const parts = fields.flatMap(({ word, member, isMoment }) => {
    const value = filter[member];
    if (value === undefined || value === '') return [];
    return [`${word}:${quoted(isMoment ? new Date(Number(value)).toISOString() : value)}`];
  });
  const bare = fields.some(({ member }) => member === alone) ? undefined : filter[alone];
  return [...parts, ...(bare ? [quoted(bare)] : [])].join(' ');
}

const quoted = (value: string): string =>
  /^[^\s":\\]+$/.test(value) || /^\d{4}-[\dT:.-]+Z$/.test(value)
    ? value
    : `"${value.replaceAll(/["\\]/g, '\\$&')}"`;
