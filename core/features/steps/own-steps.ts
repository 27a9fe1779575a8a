/** The step store for an attempt. The attempt ends if it reads a text that does not verify. */

import type { LongshoreError } from '../../base/errors.ts';
import type { StepStore } from '../../contract/derived/steps.ts';
import type { Admitted } from '../../kernel/attempt/attempt.ts';
import type { Run } from '../../kernel/attempt/run.ts';
import { runSteps } from './run-steps.ts';
import { sealedSteps } from './seal.ts';

export const ownSteps = ({ ports, app, run }: Admitted): StepStore =>
  sealedSteps(ports.client.stores.steps!, app, (error) => refuse(run, error));

/** After the first text that does not verify, the job becomes a dead letter, even if its handler catches the error. */
export function refuse(run: Run, error: LongshoreError): void {
  const steps = runSteps(run);
  steps.refused = true;
  const end = () => ({ verb: 'abandon', outcome: 'rejected', reason: 'rejected', error }) as const;
  steps.parked = { until: -Infinity, error, forEvent: false, end };
}
