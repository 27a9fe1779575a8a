/** Numbers and times as people read them. */

const counts = new Intl.NumberFormat('en-US');
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

export const count = (n: number): string => counts.format(n);
/** `12.3K`, for axes. */
export const shortCount = (n: number): string => short.format(n);
export const plural = (n: number, one: string, many = `${one}s`): string =>
  `${count(n)} ${n === 1 ? one : many}`;
export const percent = (share: number): string =>
  `${(share * 100).toFixed(share > 0.999 || share < 0.001 ? 2 : 1)}%`;
export const rate = (n: number): string =>
  n < 10 && !Number.isInteger(n) ? n.toFixed(1) : count(Math.round(n));

export const orNone = (value: number | null | undefined, format: (n: number) => string): string =>
  value === null || value === undefined ? '–' : format(value);

const units: readonly [string, number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
];

/** `420 ms`, `1.4 s`, `3 m 20 s`. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1_000).toFixed(ms < 9_950 ? 1 : 0)} s`;
  const at = units.findIndex(([, unit]) => ms >= unit);
  const [name, unit] = units[at]!;
  const whole = Math.floor(ms / unit);
  const [nextName, nextUnit] = units[at + 1]!;
  const rest = Math.floor((ms - whole * unit) / nextUnit);
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${nextName}`;
}

/** Indexes of values without neighbours: no line can show them, so they are drawn as points. */
export const isolatedIn = (values: readonly (number | null)[]): number[] =>
  values.flatMap((value, i) =>
    value !== null && (values[i - 1] ?? null) === null && (values[i + 1] ?? null) === null ? [i] : [],
  );

/** Steps of a chart's scale: whole numbers, and times as on a clock. */
export const countSteps = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12].flatMap((e) =>
  [1, 2, 5].map((n) => n * 10 ** e),
);
export const durationSteps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 15, 30].map((n) => n * 1_000),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * 60_000),
  ...[1, 2, 3, 6, 12].map((n) => n * 3_600_000),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500].map((n) => n * 86_400_000),
];

export function bytes(n: number): string {
  if (n < 1_024) return `${count(n)} B`;
  if (n < 1_048_576) return `${(n / 1_024).toFixed(1)} KB`;
  return n < 1_073_741_824 ? `${(n / 1_048_576).toFixed(1)} MB` : `${(n / 1_073_741_824).toFixed(1)} GB`;
}

/** `5 s ago`, `in 3 m`, `2 h 5 m ago`. */
export function ago(at: number, now: number): string {
  const ms = Math.abs(now - at);
  if (ms < 1_000) return 'now';
  const unit = ms < 60_000 ? 1_000 : 60_000;
  const words = ms < 3_600_000 ? `${Math.floor(ms / unit)} ${unit === 1_000 ? 's' : 'm'}` : duration(ms);
  return now > at ? `${words} ago` : `in ${words}`;
}

/** `2026-11-23 09:48:12`, in the local or another time zone. */
export function moment(at: number, zone?: string): string {
  const parts = {
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  } as const;
  // Swedish dates have the format of ISO 8601.
  return new Intl.DateTimeFormat('sv-SE', { ...parts, ...(zone !== undefined && { timeZone: zone }) }).format(
    at,
  );
}

/** The id of the trace in `00-<trace id>-<span id>-01`. */
export const traceOf = (traceparent: string): string => traceparent.split('-')[1] ?? traceparent;

export const clockTime = (at: number): string => moment(at).slice(11);
/** The time zone of this machine. */
export const ownZone = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Characters that show nothing, or change the direction of the text around them. */
const unseen = /[\p{Cc}\p{Bidi_Control}\u200b\u2028\u2029\u2060-\u2064\ufeff]/gu;

/** As a number, because few fonts have symbols for them. */
const symbolOf = (character: string): string =>
  `\u27e8${character.codePointAt(0)!.toString(16).padStart(2, '0')}\u27e9`;

/** Makes every character of a line visible: control characters as `⟨1b⟩`, lone surrogates as `\ufffd`. */
export const visibleLine = (text: string): string => text.toWellFormed().replace(unseen, symbolOf);
/** The same for a text of several lines; line breaks stay. */
export const visible = (text: string): string =>
  text.toWellFormed().replace(unseen, (one) => (one === '\n' || one === '\t' ? one : symbolOf(one)));
