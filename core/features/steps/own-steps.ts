/** The step store in the hands of an attempt: one that reads what does not verify ends there. */

import type { StepStore } from '../../contract/derived/steps.ts';
import type { Admitted } from '../../kernel/attempt/attempt.ts';
import { runSteps } from './run-steps.ts';
import { sealedSteps } from './seal.ts';

/** With the first text that does not verify the job becomes a dead letter, whatever its handler does with the error. */
export function ownSteps({ ports, app, run }: Admitted): StepStore {
  return sealedSteps(ports.client.stores.steps!, app, (error) => {
    const steps = runSteps(run);
    steps.refused = true;
    const end = () => ({ verb: 'abandon', outcome: 'rejected', reason: 'rejected', error }) as const;
    steps.parked = { until: -Infinity, error, forEvent: false, end };
  });
}
