/** The due times of a schedule, shared by schedules in code and those made at run time. */

/**
 * The first due time after `after` (epoch ms); `null` = there is none any more. Rejects with `CONFIG` if the pattern is invalid or
 * never comes due, or if the time zone is unknown.
 */
export type NextAfter = (after: number) => Promise<number | null>;

/** Counted from the epoch, so that all hosts agree. */
export const intervalOf =
  (everyMs: number): NextAfter =>
  async (after) =>
    (Math.floor(after / everyMs) + 1) * everyMs;

/** @param until the last possible due time, epoch ms; absent = there is none */
export const endingAt = (nextAfter: NextAfter, until: number | undefined): NextAfter =>
  until === undefined
    ? nextAfter
    : async (after) => {
        const at = await nextAfter(after);
        return at !== null && at <= until ? at : null;
      };

/** For people. */
export const timingOf = (timing: {
  readonly cron?: string | undefined;
  readonly everyMs?: number | undefined;
  readonly timezone?: string | undefined;
  readonly until?: number | undefined;
}): string => {
  const { cron, everyMs, timezone = 'UTC', until } = timing;
  const end = until === undefined ? '' : ` until ${new Date(until).toISOString()}`;
  return `${everyMs === undefined ? `${cron} (${timezone})` : `every ${everyMs} ms`}${end}`;
};

/** Whether a date can be an end. */
export const isEnd = (until: unknown): until is Date =>
  until instanceof Date && Number.isFinite(until.getTime());
