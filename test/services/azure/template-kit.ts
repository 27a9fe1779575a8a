/** The template of the example, as `longshore package azure` computes it. */

import { createExampleApp } from '../../../examples/app/app.ts';
import { deployment } from '../../../examples/longshore.config.ts';
import { type AzurePlan, planAzure } from '../../../local/package/azure/plan.ts';
import { template } from '../../../local/package/azure/template.ts';

export const { app } = createExampleApp({} as never); // for its queues and jobs; none runs here

const { environment = {}, containers = [] } = deployment.azure!;

export const plan: AzurePlan = planAzure(app, {
  environment,
  containers,
  sessions: undefined,
  hasTable: true,
  hasPayloads: true,
});
export const made = template(plan);
