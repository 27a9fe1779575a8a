/**
 * The law of meetings: every feature meets every event. No job is lost, none runs more often than the event excuses, none waits for ever,
 * and all answers and records are true. If the table of crossings lists a refusal, the feature is refused with that code.
 */

import assert from 'node:assert/strict';
import { type Crossed, crossings } from '../../../core/features/all-crossings.ts';
import type { Event } from '../../../core/features/crossings.ts';
import type { Runner } from '../laws/harness.ts';
import type { Happening, Meeting } from './event.ts';
import { happenings } from './events.ts';
import { meet } from './meet.ts';
import { preload } from './preload.ts';
import type { Sample } from './sample.ts';
import { samples } from './samples.ts';
import type { MeetingHarness } from './world.ts';

export type { MeetingBench, MeetingHarness } from './world.ts';

export interface MeetingOptions {
  /**
   * Runs about this share of the meetings of a cell, the same ones for the same seed, and at least `least` per cell (1).
   * @default all
   */
  readonly sample?: {
    readonly share: number;
    readonly seed: number;
    readonly least?: 0 | 1;
    /** Leaves out meetings whose disturbance lasts longer, because virtual time takes real time on a server. */
    readonly mostMs?: number;
  };
}

export function describeMeetings(
  name: string,
  harness: MeetingHarness,
  { describe, it }: Runner,
  options: MeetingOptions = {},
): void {
  const loaded = preload();
  for (const [feature, own] of Object.entries<Readonly<Record<string, Sample>>>(samples)) {
    const met = new Map<Event, Set<string>>();
    for (const [title, sample] of Object.entries(own)) {
      const cells = Object.entries<Happening>(happenings).flatMap(([event, { meetings, ofAllBackends }]) => {
        const isElsewhere = ofAllBackends && options.sample;
        const moments = isElsewhere ? [] : chosen(`${title} × ${event}`, meetings, options);
        return moments.length === 0 ? [] : [{ event: event as Event, moments }];
      });
      if (cells.length === 0) continue;
      describe(`${name}: ${title}`, () => {
        for (const { event, moments } of cells)
          it(`meets ${event}`, async () => {
            await loaded;
            const refusals = refusalsOf([feature as Crossed, ...(sample.also ?? []), 'jobs'], event);
            const codes = met.get(event) ?? new Set();
            met.set(event, codes);
            const complaints: string[] = [];
            for (const moment of moments) {
              const { refused, complaints: some } = await meet(sample, moment, harness, refusals);
              for (const code of refused) {
                codes.add(code);
                if (!refusals.includes(code)) complaints.push(`${moment.when}: refused with ${code}`);
              }
              complaints.push(...some.map((complaint) => `${moment.when}: ${complaint}`));
            }
            assert.deepEqual(complaints, [], `${sample.promises}: broken`);
          });
      });
    }
    if (!options.sample) describeRefusals(`${name}: ${feature}`, feature as Crossed, met, { describe, it });
  }
}

/** Fails for a listed code that no sample of the feature got. */
function describeRefusals(
  name: string,
  feature: Crossed,
  met: ReadonlyMap<Event, ReadonlySet<string>>,
  { describe, it }: Runner,
): void {
  const refusing = (Object.keys(happenings) as Event[]).filter(
    (event) => refusalsOf([feature], event).length > 0,
  );
  if (refusing.length === 0) return;
  describe(name, () => {
    for (const event of refusing)
      it(`refuses ${event}`, async () => {
        const codes = met.get(event);
        // Skipped if this test runs alone.
        if (codes)
          for (const code of refusalsOf([feature], event)) assert.ok(codes.has(code), `never ${code}`);
      });
  });
}

const refusalsOf = (features: readonly Crossed[], event: Event): string[] =>
  features.flatMap((feature) => {
    const answer = crossings[feature].on[event];
    return typeof answer === 'string' ? [] : [answer.refuses];
  });

/** Chosen by name, so that a new meeting does not change the choice of others. */
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

/** A number in [0, 1): FNV-1a of the name. */
function lotOf(name: string, seed: number): number {
  let hash = seed | 0;
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193);
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32;
}
