import { LongshoreError, shown } from './errors.ts';

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A duration in ms, from a number of ms or a text like `90s`, `15m`, `2h`, `2d`. Throws `OPTION` for anything else. */
export function millis(what: string, time: unknown): number {
  if (typeof time === 'number' && Number.isFinite(time) && time >= 0) return time;
  const [, amount, unit] = (typeof time === 'string' && /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(time)) || [];
  if (amount !== undefined) return Number(amount) * units[unit!]!;
  throw new LongshoreError(
    'OPTION',
    `Expected ${what} to be a number of ms or text like "90s" or "2d", got ${shown(time)}.`,
  );
}

/** A duration for people, with two digits: `850 ms`, `4.2 s`, `3 min`, `2 h`, `5 d`. */
export function span(ms: number): string {
  const sign = ms < 0 ? '-' : '';
  const size = Math.abs(ms);
  if (size < 1000) return `${sign}${Math.round(size)} ms`;
  for (const [unit, length, next] of [
    ['s', 1000, 120_000],
    ['min', 60_000, 7_200_000],
    ['h', 3_600_000, 172_800_000],
  ] as const) {
    if (size < next) return `${sign}${shortened(size / length)} ${unit}`;
  }
  return `${sign}${shortened(size / 86_400_000)} d`;
}

const shortened = (value: number): string =>
  value < 10 ? value.toFixed(1).replace('.0', '') : value.toFixed(0);
