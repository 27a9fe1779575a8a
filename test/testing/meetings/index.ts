/**
 * The law of meetings: every feature meets every event. Nothing is lost, nothing is done twice beyond what the event excuses, nobody
 * waits for ever or by chance, and what people are told is true.
 */

import assert from 'node:assert/strict';
import type { Runner } from '../laws/harness.ts';
import { happenings } from './events.ts';
import { features } from './features.ts';
import { meet } from './meet.ts';
import { preload } from './preload.ts';
import type { MeetingHarness } from './world.ts';

export type { MeetingBench, MeetingHarness } from './world.ts';

export function describeMeetings(name: string, harness: MeetingHarness, { describe, it }: Runner): void {
  const loaded = preload();
  for (const feature of features)
    describe(`${name}: ${feature.name}`, () => {
      for (const { name: event, meetings } of happenings)
        it(`meets ${event}`, async () => {
          await loaded;
          const complaints: string[] = [];
          for (const meeting of meetings)
            for (const complaint of await meet(feature, meeting, harness))
              complaints.push(`${meeting.when}: ${complaint}`);
          assert.deepEqual(complaints, []);
        });
    });
}
