/** The stored steps of a job, for people. */

import { span } from '../../base/duration.ts';
import { masked } from '../../base/mask.ts';
import type { JobRecord, Stores } from '../../contract/store.ts';
import { forEach } from '../../kit/parallel.ts';
import {
  forged,
  isSleep,
  isWait,
  logIn,
  nameOfJob,
  type RememberedStep,
  readPieces,
  stepsIn,
} from './stored.ts';

export interface StepView {
  readonly name: string;
  readonly state: 'done' | 'slept' | 'sleeps' | 'waits' | 'received' | 'timed out';
  /** When the step ended, or when the sleep or wait began. */
  readonly at: number;
  /** The end of a sleep or a wait. */
  readonly until: number | null;
  readonly event: string | null;
  readonly key: string | null;
  /** The result of the step or the payload of the event, with `[masked]` under names that look like secrets; `null` = none. */
  readonly value: unknown;
}

export interface StepsView {
  /** In the order in which they began. Empty if the job has none, or has completed. */
  readonly steps: readonly StepView[];
  /** Set if a piece is missing or was changed: its steps are left out, and the next attempt will fail. */
  readonly problem: string | null;
}

export async function stepsOf(
  { steps: store }: Pick<Stores, 'steps'>,
  id: string,
  now: number,
): Promise<StepsView> {
  const read = async () => {
    const found = await store?.read(nameOfJob(id));
    return found ? logIn(found.text) : null;
  };
  for (let log = await read(); store && log !== null; log = await read()) {
    const texts = await readPieces(store, id, log.pieces);
    const bad = log.pieces.filter((_, i) => texts[i] === null);
    // An attempt that runs may have merged it meanwhile.
    const latest = bad.length > 0 ? await read() : null;
    if (bad.some(({ name }) => !latest?.pieces.some((piece) => piece.name === name))) continue;
    const older: RememberedStep[] = texts.flatMap((text) => JSON.parse(text ?? '[]'));
    const steps = [...older, ...log.steps].sort((a, b) => a.at - b.at).map((step) => viewOf(step, now));
    return { steps, problem: bad[0] ? `Some steps are not shown. ${forged(id, bad[0]).message}` : null };
  }
  return { steps: [], problem: null };
}

function viewOf(step: RememberedStep, now: number): StepView {
  const { name, at } = step;
  const view = { name, at, until: null, event: null, key: null, value: null };
  if (isWait(step)) {
    const { event, key, until, got } = step;
    const state = got ? 'received' : step.over ? 'timed out' : 'waits';
    return { ...view, state, event, key, until, value: masked(got?.payload ?? null) };
  }
  if (isSleep(step)) return { ...view, state: step.until > now ? 'sleeps' : 'slept', until: step.until };
  return { ...view, state: 'done', value: masked(('value' in step ? step.value : null) ?? null) };
}

/** Why the job waits; empty unless it sleeps or waits for an event. */
export function whySleeps(steps: readonly StepView[], now: number): string[] {
  return steps.flatMap(({ state, until, event, key }) => {
    if (state !== 'sleeps' && state !== 'waits') return [];
    const end = `until ${new Date(until!).toISOString()} (in ${span(Math.max(0, until! - now))})`;
    if (state === 'sleeps') return [`sleeps ${end}`];
    const of = key === null ? '' : ` with key ${JSON.stringify(key)}`;
    return [`waits for event ${event}${of}, ${end}`];
  });
}

/** Why jobs of a page sleep or wait for an event, by id. Records do not contain it, so the latest steps of each delayed job are read. */
export async function sleepersOf(
  stores: Pick<Stores, 'steps'>,
  jobs: readonly Pick<JobRecord, 'id' | 'status' | 'runAt'>[],
  now: number,
): Promise<ReadonlyMap<string, string>> {
  const sleepers = new Map<string, string>();
  const { steps } = stores;
  if (!steps) return sleepers;
  const later = jobs.filter(
    ({ status, runAt }) => (status === 'pending' || status === 'retrying') && runAt > now,
  );
  await forEach(later, async ({ id }) => {
    const found = await steps.read(nameOfJob(id));
    const views = stepsIn(found?.text ?? null).map((step) => viewOf(step, now));
    const [why] = whySleeps(views, now);
    if (why !== undefined) sleepers.set(id, why);
  });
  return sleepers;
}
