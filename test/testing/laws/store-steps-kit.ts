import assert from 'node:assert/strict';
import type { Clock } from '../../../core/base/clock.ts';
import type { StepStore } from '../../../core/contract/derived/steps.ts';
import type { LogOwner } from '../../../core/features/steps/log.ts';
import { logIn, nameOfJob, type RememberedStep, readPieces } from '../../../core/features/steps/stored.ts';
import { type Kit, minute } from './kit.ts';

/** The store of every opening of the storage. */
export function stepsOf(t: Kit): StepStore[] {
  return t.openings.map(({ name, stores }) => {
    assert.ok(stores?.steps, `the stores of "${name}" have no steps and declare no lack of them`);
    return stores.steps;
  });
}

export const clockOf = (t: Kit): Clock => ({
  now: () => t.now(),
  after: () => assert.fail('nothing of the steps waits for a time'),
});

export const ownerOf = (t: Kit, id: string, attempt: number, leaseMs = minute): LogOwner => ({
  ...{ id, owner: `lease ${attempt} of ${id}`, attempt, leaseUntil: t.now() + leaseMs },
});

/** As they are stored, without opening them. */
export async function allSteps(store: StepStore, id: string): Promise<readonly RememberedStep[]> {
  const found = await store.read(nameOfJob(id));
  if (found === null) return [];
  const { steps, pieces } = logIn(found.text);
  const texts = await readPieces(store, id, pieces);
  return [...texts.flatMap((text) => JSON.parse(text ?? assert.fail('a piece is missing'))), ...steps];
}
