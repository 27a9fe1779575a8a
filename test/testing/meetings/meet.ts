/** One cell of the table: a feature meets an event at a moment. */

import type { Meeting } from './event.ts';
import type { Feature } from './feature.ts';
import { leaseMs } from './process.ts';
import { complaintsOf } from './verdict.ts';
import { type MeetingHarness, openWorld, type World } from './world.ts';

/** The end comes within this, unless a time was asked for. */
const boundMs = leaseMs + 60_000;

/** Resolves with complaints; none = the two get along. */
export async function meet(feature: Feature, meeting: Meeting, harness: MeetingHarness): Promise<string[]> {
  const world = await openWorld(feature, harness);
  try {
    await meeting.before?.(world);
    await world.send(world.sender, '1');
    await meeting.waiting?.(world);
    for (const worker of world.workers) worker.startWorker();
    const { asksMs = 0 } = feature;
    const mostMs = boundMs + asksMs + (meeting.takesMs ?? 0);
    if (meeting.running) {
      const isAtWork = () => world.runs.some(({ end }) => end === null);
      if (await world.timeline.until(isAtWork, mostMs)) await meeting.running(world);
    }
    const first = await complaintsWithin(world, meeting, mostMs);
    if (first.length > 0) return first;
    const late = world.start('late sender');
    if (world.workers.some(({ isDead }) => isDead)) world.start('worker C').startWorker();
    await world.send(late, '2');
    return (await complaintsWithin(world, meeting, mostMs)).map((complaint) => `afterwards ${complaint}`);
  } catch (error) {
    return [`${error}`];
  } finally {
    await world.close();
  }
}

const lookMs = 5_000;

/** Lets time pass until nobody complains. */
async function complaintsWithin(world: World, meeting: Meeting, mostMs: number): Promise<string[]> {
  let complaints: string[] = [];
  let lookAt = 0;
  let ends = -1;
  await world.timeline.until(async () => {
    const { length } = world.runs.filter(({ end }) => end !== null);
    if (length === ends && world.timeline.elapsed() < lookAt) return false;
    ends = length;
    lookAt = world.timeline.elapsed() + lookMs;
    complaints = await complaintsOf(world, meeting);
    return complaints.length === 0;
  }, mostMs);
  return complaints.length === 0 ? [] : complaintsOf(world, meeting);
}
