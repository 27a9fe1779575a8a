/** Runs checks side by side, each for so long and no longer. None of them can end the others. */

import type { Clock } from '../../../core/base/clock.ts';
import type { Check, Looked, Problem, Severity } from '../../../core/contract/diagnosis.ts';
import { within } from '../../waiting.ts';
import { explain } from '../errors.ts';
import { span } from '../output/ui.ts';

export interface Finding extends Required<Problem> {
  readonly id: string;
}

export interface Diagnosis {
  /** How many were run, those that could look at nothing among them. */
  readonly checks: number;
  readonly findings: readonly Finding[];
  readonly notChecked: readonly { readonly id: string; readonly because: string }[];
}

export const severities: readonly Severity[] = ['error', 'warning', 'note'];

/**
 * @param limitMs for each; only work that waits can be given up
 * @param because why they may fail: then a failure says no more than that nobody could look
 */
export async function runChecks(
  checks: readonly Check[],
  clock: Clock,
  limitMs: number,
  because?: string,
): Promise<Diagnosis> {
  const failed = (text: string, remedy: string): Looked =>
    because === undefined ? [{ where: 'this check', text, remedy }] : { because };
  const looked = await Promise.all(checks.map((check) => look(check, clock, limitMs, failed)));
  const findings = looked.flatMap((one, i) => {
    if ('because' in one) return [];
    const { id, severity } = checks[i]!;
    return [one].flat().map((problem): Finding => ({ id, severity, ...problem }));
  });
  const notChecked = looked.flatMap((one, i) =>
    'because' in one ? [{ id: checks[i]!.id, because: one.because }] : [],
  );
  return { checks: checks.length, findings, notChecked };
}

export const together = (parts: readonly Diagnosis[]): Diagnosis => ({
  checks: parts.reduce((sum, { checks }) => sum + checks, 0),
  findings: parts.flatMap(({ findings }) => findings),
  notChecked: parts.flatMap(({ notChecked }) => notChecked),
});

/** None of these is run. */
export const skipped = (checks: readonly Check[], because: string): Diagnosis => ({
  checks: checks.length,
  findings: [],
  notChecked: checks.map(({ id }) => ({ id, because })),
});

async function look(
  check: Check,
  clock: Clock,
  limitMs: number,
  failed: (text: string, remedy: string) => Looked,
): Promise<Looked> {
  const late = () =>
    failed(
      `It had no answer within ${span(limitMs)}.`,
      'Look whether what it asks hangs, or raise --timeout.',
    );
  try {
    return await within(clock, limitMs, (async () => check.look())(), late);
  } catch (error) {
    const { code, message } = explain(error);
    return failed(
      `It failed: ${code}: ${message}`,
      'Mend what the error says, and run longshore doctor again.',
    );
  }
}
