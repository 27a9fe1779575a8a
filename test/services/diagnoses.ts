/** Runs the checks of a backend or a store as `longshore doctor` does. */

import type { Check, DiagnosisRequest, Problem, QueueNeeds } from '../../core/contract/diagnosis.ts';

export const request = (
  change: Partial<DiagnosisRequest> & { needs?: QueueNeeds } = {},
): DiagnosisRequest => {
  const { needs = { maxRetries: 3, timeoutMs: 60_000 }, ...rest } = change;
  return { queues: ['default'], needsOf: () => needs, keysKeptMs: 0, ...rest };
};

/** What was found and what could not be looked at, by the ids of the checks. */
export async function lookedAt(
  asked: { diagnose?(request: DiagnosisRequest): Promise<readonly Check[]> },
  of: DiagnosisRequest = request(),
) {
  const found: Record<string, readonly Required<Problem>[]> = {};
  const notChecked: Record<string, string> = {};
  for (const { id, severity, look } of await asked.diagnose!(of)) {
    const looked = await look();
    if ('because' in looked) notChecked[id] = looked.because;
    else if ([looked].flat().length > 0)
      found[id] = [looked].flat().map((problem) => ({ severity, ...problem }));
  }
  return { found, notChecked };
}
