/** The Retry-After header (RFC 9110 §10.2.3): seconds, or one of the three forms of an HTTP date. */

const days = '(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)';
const longDays = '(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day';
const months = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)';
const time = '\\d\\d:\\d\\d:\\d\\d';
const withZone = new RegExp(
  `^(?:${days}, \\d\\d ${months} \\d{4}|${longDays}, \\d\\d-${months}-\\d\\d) ${time} GMT$`,
);
const withoutZone = new RegExp(`^${days} ${months} [ \\d]\\d ${time} \\d{4}$`);

/** A receiver that says "0", or a date that has passed, must not use up all attempts within a second. */
const leastDelayMs = 1_000;

/** Delay in ms, from one second to `maxMs`; `null` when the header is missing or is not one. */
export function retryAfterMs(header: string | undefined, now: number, maxMs: number): number | null {
  const text = header?.trim() ?? '';
  let delayMs: number;
  if (/^\d+$/.test(text)) delayMs = Number(text) * 1000;
  else if (withZone.test(text)) delayMs = Date.parse(text) - now;
  // The oldest form names no zone, and without one it would be read as local time.
  else if (withoutZone.test(text)) delayMs = Date.parse(`${text} GMT`) - now;
  else return null;
  if (Number.isNaN(delayMs)) return null;
  return Math.min(maxMs, Math.max(leastDelayMs, delayMs));
}
