/** Runs checks side by side, each with a time limit, and reports what they found. A failure does not stop the others. */

import type { Clock } from '../../../core/base/clock.ts';
import type { Check, Looked, Problem, Severity } from '../../../core/contract/diagnosis.ts';
import { within } from '../../waiting.ts';
import { flag } from '../config/flags.ts';
import type { Input, Result } from '../definition.ts';
import { explain } from '../errors.ts';
import { count, plain, type Style, span, type Ui, wrapped } from '../output/ui.ts';

export interface Finding extends Required<Problem> {
  readonly id: string;
}

export interface Diagnosis {
  /** Number of checks, including those that could not run. */
  readonly checks: number;
  readonly findings: readonly Finding[];
  readonly notChecked: readonly { readonly id: string; readonly because: string }[];
}

const severities: readonly Severity[] = ['error', 'warning', 'note'];

/**
 * @param limitMs the time limit of each check; it cannot interrupt synchronous work
 * @param because a known reason for failures: a check that fails then counts as not checked
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

/** The result for checks that do not run. */
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
      'Check whether the server hangs, or raise --timeout.',
    );
  try {
    return await within(clock, limitMs, (async () => check.look())(), late);
  } catch (error) {
    const { code, message } = explain(error);
    return failed(`It failed: ${code}: ${message}`, 'Fix the error, and run longshore doctor again.');
  }
}

export const strictFlag = flag('--strict', 'also exit with 1 for warnings');

export const exits = {
  0: 'no errors; with --strict no warnings either',
  1: 'a problem was found, or the command failed',
} as const;

type Asked = Pick<Input, 'io' | 'ui'> & { readonly flags: { readonly strict?: boolean | undefined } };

/** The output and the exit code of a command that runs checks. */
export function diagnosed(found: Diagnosis, { io, ui, flags }: Asked): Result {
  const [errors, warnings] = [countOf(found, 'error'), countOf(found, 'warning')];
  return {
    data: { ...found, errors, warnings },
    text: showDiagnosis(found, ui, io.isTTY.stdout ? io.columns : null),
    exit: errors > 0 || (flags.strict === true && warnings > 0) ? 1 : 0,
  };
}

export const countOf = ({ findings }: Diagnosis, severity: Severity): number =>
  findings.filter((one) => one.severity === severity).length;

const styles: Readonly<Record<Severity, Style>> = { error: 'red', warning: 'yellow', note: 'cyan' };

/** @param width the width of the terminal; `null` = no limit */
function showDiagnosis(found: Diagnosis, ui: Ui, width: number | null): string {
  const { checks, findings, notChecked } = found;
  const groups = Map.groupBy([...findings, ...notChecked], ({ id }) => id.split('.')[0]!);
  const lines = [...groups].flatMap(([group, all]) => [
    ui.paint('bold', group),
    ...all.toSorted((a, b) => rankOf(a) - rankOf(b)).flatMap((one) => linesOf(one, ui, width)),
    '',
  ]);
  const sums = [
    count(checks, 'check'),
    count(countOf(found, 'error'), 'error'),
    count(countOf(found, 'warning'), 'warning'),
    count(countOf(found, 'note'), 'note'),
    `${notChecked.length} not checked`,
  ];
  return [...lines, sums.join(', ')].join('\n');
}

type Shown = Finding | Diagnosis['notChecked'][number];

function linesOf(one: Shown, ui: Ui, width: number | null): string[] {
  if ('because' in one) {
    const text = `not checked: ${one.id}, because ${withStop(one.because)}`;
    return indented(text, 2, 6, width).map((line) => ui.paint('dim', line));
  }
  const { severity, id, where, text, remedy } = one;
  const [first, ...rest] = indented(`${severity} ${id}, ${where}: ${text}`, 2, 6, width);
  const head = `  ${severity}`;
  return [
    `  ${ui.paint(styles[severity], severity)}${first!.slice(head.length)}`,
    ...rest,
    ...indented(remedy, 6, 6, width),
  ];
}

const rankOf = (one: Shown): number =>
  'because' in one ? severities.length : severities.indexOf(one.severity);
const withStop = (text: string): string => text.replace(/\.?$/, '.');

function indented(text: string, first: number, later: number, width: number | null): string[] {
  const room = width ?? Number.POSITIVE_INFINITY;
  return wrapped(plain(text), room - later, room - first).map(
    (line, i) => ' '.repeat(i === 0 ? first : later) + line,
  );
}
