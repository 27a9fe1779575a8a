/** One moment of a cell of the table: a sample of a feature meets an event. */

import { LongshoreError } from '../../../core/index.ts';
import type { Meeting, Met } from './event.ts';
import { leaseMs } from './process.ts';
import type { Sample } from './sample.ts';
import { complaintsOf } from './verdict.ts';
import { type MeetingHarness, openWorld, type World } from './world.ts';

/** All jobs must end within this time, plus the times of the sample and the meeting. */
const boundMs = leaseMs + 60_000;

/** @param refusals codes that the table of crossings allows: a refusal with one of them is correct */
export async function meet(
  sample: Sample,
  meeting: Meeting,
  harness: MeetingHarness,
  refusals: readonly string[],
): Promise<Met> {
  const refused = new Set<string>();
  const complaints: string[] = [];
  try {
    if (meeting.instead) return await meeting.instead(sample, meeting, harness);
    const world = await openWorld(sample, harness, refused);
    try {
      complaints.push(...(await story(world, meeting, boundMs + (harness.asksAgainMs ?? 0))));
    } finally {
      await world.close();
    }
  } catch (error) {
    const { code = '' } = error as { readonly code?: string };
    if (refusals.includes(code)) return { complaints: [], refused: refused.add(code) };
    if (lacksTransactions(error) || (harness.mayRefuse && code === 'CONFIG'))
      return { complaints: [], refused };
    return { complaints: [error instanceof Error ? (error.stack ?? error.message) : `${error}`], refused };
  }
  // A call that is refused within a handler makes its job a dead letter.
  const died = refusals.find((code) => complaints.some((text) => text.includes(` died: ${code}: `)));
  return died === undefined ? { complaints, refused } : { complaints: [], refused: refused.add(died) };
}

/** If the queue has no transactions, an app whose jobs need them is refused before anything is sent. */
const lacksTransactions = (error: unknown): boolean =>
  error instanceof LongshoreError && error.code === 'CONFIG' && error.message.includes('offers none');

async function story(world: World, meeting: Meeting, usualMs: number): Promise<string[]> {
  const { sample, timeline } = world;
  const mostMs = usualMs + (sample.asksMs ?? 0) + (meeting.takesMs ?? 0);
  await meeting.before?.(world);
  await world.send(world.sender, '1');
  await meeting.waiting?.(world);
  // A server must learn of a clock step before workers fetch jobs.
  if (timeline.hasServers) await timeline.settle();
  world.startWorkers();
  const startedAt = timeline.elapsed();
  sample.meanwhile?.(world.people, '1');
  if (meeting.running) {
    const isAtWork = () => world.runs.some(({ end }) => end === null);
    if (await timeline.until(isAtWork, mostMs)) await meeting.running(world);
  }
  const first = await complaintsWithin(world, meeting, mostMs);
  if (first.length > 0) return first;
  // Actions of `meanwhile` must not happen in the second round.
  if (sample.meanwhile) await world.pass(startedAt + (sample.asksMs ?? 0) - timeline.elapsed());
  await meeting.ended?.(world);
  if (world.workers.some(({ isDead }) => isDead)) world.start('worker C').startWorker();
  await world.send(world.start('late sender'), '2');
  sample.meanwhile?.(world.people, '2');
  const second = await complaintsWithin(world, meeting, mostMs);
  return second.map((complaint) => `afterwards: ${complaint}`);
}

const lookMs = 5_000;

/** Lets time pass until there are no complaints. */
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
