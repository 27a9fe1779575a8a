/** One moment of a cell of the table: a feature meets an event. */

import { LongshoreError } from '../../../core/index.ts';
import type { Meeting } from './event.ts';
import type { Feature } from './feature.ts';
import { leaseMs } from './process.ts';
import { complaintsOf } from './verdict.ts';
import { type MeetingHarness, openWorld, type World } from './world.ts';

/** The end comes within this, unless a time was asked for. */
const boundMs = leaseMs + 60_000;

/** Resolves with complaints; none = the two get along. */
export async function meet(feature: Feature, meeting: Meeting, harness: MeetingHarness): Promise<string[]> {
  if (meeting.instead) return meeting.instead(feature, meeting).catch((error: Error) => [`${error.stack}`]);
  let world: World | null = null;
  try {
    world = await openWorld(feature, harness);
    return await story(world, meeting, boundMs + (harness.asksAgainMs ?? 0));
  } catch (error) {
    if (isRefused(feature, error)) return [];
    if (harness.mayRefuse && (error as { code?: string }).code === 'CONFIG') return [];
    return [error instanceof Error ? (error.stack ?? error.message) : `${error}`];
  } finally {
    await world?.close();
  }
}

/** Where the queue has no transactions, an app whose jobs need them is refused before anything is sent. */
const isRefused = ({ transacts }: Feature, error: unknown): boolean =>
  transacts === true &&
  error instanceof LongshoreError &&
  error.code === 'CONFIG' &&
  error.message.includes('offers none');

async function story(world: World, meeting: Meeting, usualMs: number): Promise<string[]> {
  const { feature, timeline } = world;
  const mostMs = usualMs + (feature.asksMs ?? 0) + (meeting.takesMs ?? 0);
  await meeting.before?.(world);
  await world.send(world.sender, '1');
  await meeting.waiting?.(world);
  // A server hears of a step of the clock before workers ask it for jobs.
  if (timeline.hasServers) await timeline.settle();
  world.startWorkers();
  const startedAt = timeline.elapsed();
  feature.meanwhile?.(world.people, '1');
  if (meeting.running) {
    const isAtWork = () => world.runs.some(({ end }) => end === null);
    if (await timeline.until(isAtWork, mostMs)) await meeting.running(world);
  }
  const first = await complaintsWithin(world, meeting, mostMs);
  if (first.length > 0) return first;
  // What people do meanwhile must not come in the second round.
  if (feature.meanwhile) await world.pass(startedAt + (feature.asksMs ?? 0) - timeline.elapsed());
  await meeting.ended?.(world);
  if (world.workers.some(({ isDead }) => isDead)) world.start('worker C').startWorker();
  await world.send(world.start('late sender'), '2');
  feature.meanwhile?.(world.people, '2');
  const second = await complaintsWithin(world, meeting, mostMs);
  return second.map((complaint) => `afterwards: ${complaint}`);
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
