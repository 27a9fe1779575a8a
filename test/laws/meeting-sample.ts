import type { MeetingOptions } from '../testing/meetings/index.ts';

const { LONGSHORE_MEETINGS: asked } = process.env;

/**
 * How many of the meetings a backend runs that takes longer than memory. `LONGSHORE_MEETINGS=all` runs all, and a number there is
 * another seed.
 */
export function meetingSample(share: number, least: 0 | 1 = 1): MeetingOptions {
  if (asked === 'all') return {};
  return { sample: { share, least, seed: asked ? Number(asked) : 1 } };
}

/** A few meetings for a backend with a server. */
export function fewMeetings(): MeetingOptions {
  const { sample } = meetingSample(0.01, 0);
  return sample ? { sample: { ...sample, mostMs: 600_000 } } : {};
}
