/** What backends agree about that keep the lines of groups themselves. */

/**
 * The next message of a group counts as ready after the one before it, so that groups take turns within a millisecond too. A group that
 * is alone may be given out faster than that: it is this much ahead at most when others come.
 */
export const mostAheadMs = 1_000;
