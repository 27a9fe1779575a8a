/** GET /metrics: the numbers of all jobs, for callers that may see all of them. */

import type { Answer, Call, Endpoint } from './call.ts';
import { Refusal } from './problem.ts';

export async function showMetrics({ metrics }: Endpoint, { caller }: Call): Promise<Answer> {
  if (caller.tenantId !== null || caller.jobs !== null) {
    throw new Refusal(
      403,
      'FORBIDDEN',
      'Expected a credential that is bound to no tenant and to no jobs, got another one. Metrics are about all jobs: make a credential for your monitoring.',
    );
  }
  return { status: 200, body: await metrics!.text(), contentType: metrics!.contentType };
}
