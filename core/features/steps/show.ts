/** The stored steps of a job, for people. */

import { span } from '../../base/duration.ts';
import { masked } from '../../base/mask.ts';
import type { JobRecord, Stores } from '../../contract/store.ts';
import { forEach } from '../../kit/parallel.ts';
import { isSleep, isWait, logIn, nameOfJob, type RememberedStep, readPieces, stepsIn } from './stored.ts';

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

/** In the order in which they began. Empty if the job has none, or has completed. Steps of a piece that is missing or changed are left out. */
export async function stepsOf(
  { steps: store }: Pick<Stores, 'steps'>,
  id: string,
  now: number,
): Promise<StepView[]> {
  const found = store ? await store.read(nameOfJob(id)) : null;
  if (!store || found === null) return [];
  const { steps, pieces } = logIn(found.text);
  const older: RememberedStep[] = (await readPieces(store, id, pieces)).flatMap((text) =>
    JSON.parse(text ?? '[]'),
  );
  return [...older, ...steps].sort((a, b) => a.at - b.at).map((step) => viewOf(step, now));
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
