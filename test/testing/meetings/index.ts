/**
 * The law of meetings: every feature meets every event. Nothing is lost, nothing is done twice beyond what the event excuses, nobody
 * waits for ever or by chance, and what people are told is true. Or the meeting is refused in words before anything is written.
 */

import assert from 'node:assert/strict';
import type { Runner } from '../laws/harness.ts';
import type { Happening, Meeting } from './event.ts';
import { type EventName, happenings } from './events.ts';
import { type Cells, known, withoutMeaning } from './exceptions.ts';
import type { Feature } from './feature.ts';
import { type FeatureName, features } from './features.ts';
import { meet } from './meet.ts';
import { preload } from './preload.ts';
import type { MeetingHarness } from './world.ts';

export type { Cells } from './exceptions.ts';
export type { MeetingBench, MeetingHarness } from './world.ts';

export interface MeetingOptions {
  /**
   * Takes about this share of the moments of a cell, the same ones for the same seed, and at least one of each cell unless `least` is
   * 0. @default all
   */
  readonly sample?: {
    readonly share: number;
    readonly seed: number;
    readonly least?: 0 | 1;
    /** None that upsets the world for longer: on a server a minute of virtual time takes some of ours. */
    readonly mostMs?: number;
  };
  /** Cells that fail on this backend alone, and why. */
  readonly known?: Cells;
}

export function describeMeetings(
  name: string,
  harness: MeetingHarness,
  { describe, it }: Runner,
  options: MeetingOptions = {},
): void {
  const loaded = preload();
  const failing: Cells = { ...known, ...options.known };
  for (const [feature, record] of Object.entries<Feature>(features)) {
    const cells = Object.entries<Happening>(happenings).flatMap(([event, { meetings, ofAllBackends }]) => {
      const cell = `${feature as FeatureName} × ${event as EventName}` as const;
      const isElsewhere = ofAllBackends && options.sample;
      const sample = withoutMeaning[cell] || isElsewhere ? [] : chosen(cell, meetings, options);
      return sample.length === 0 ? [] : [{ event, cell, sample, isWhole: sample.length === meetings.length }];
    });
    if (cells.length === 0) continue;
    describe(`${name}: ${feature}`, () => {
      for (const { event, cell, sample, isWhole } of cells)
        it(`meets ${event}`, async () => {
          await loaded;
          const complaints: string[] = [];
          for (const meeting of sample)
            for (const complaint of await meet(record, meeting, harness))
              complaints.push(`${meeting.when}: ${complaint}`);
          const why = failing[cell];
          if (why === undefined) assert.deepEqual(complaints, [], `${record.promises}: broken`);
          else if (isWhole)
            assert.notDeepEqual(complaints, [], `It holds now. Take it from the known cells: ${why}`);
        });
    });
  }
}

/** By their names, so that a meeting that is added changes nothing for the others. */
function chosen(cell: string, meetings: readonly Meeting[], { sample }: MeetingOptions): readonly Meeting[] {
  if (!sample) return meetings;
  const { share, seed, least = 1, mostMs = Infinity } = sample;
  const lots = meetings
    .filter(({ takesMs = 0 }) => takesMs <= mostMs)
    .map((meeting) => ({ meeting, lot: lotOf(`${cell} ${meeting.when}`, seed) }));
  const first = Math.min(...lots.map(({ lot }) => lot));
  return lots
    .filter(({ lot }) => lot < share || (least === 1 && lot === first))
    .map(({ meeting }) => meeting);
}

/** In [0, 1): FNV-1a of the name. */
function lotOf(name: string, seed: number): number {
  let hash = seed | 0;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
}
