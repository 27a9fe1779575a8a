/** A diagnosis for people: grouped by what it is about, a finding and its remedy below it, nothing cut. */

import type { Severity } from '../../../core/contract/diagnosis.ts';
import { count, plain, type Style, type Ui } from '../output/ui.ts';
import { type Diagnosis, type Finding, severities } from './run-checks.ts';

const styles: Readonly<Record<Severity, Style>> = { error: 'red', warning: 'yellow', note: 'cyan' };

/** @param width of a terminal, `null` = lines may be of any length */
export function showDiagnosis(
  { checks, findings, notChecked }: Diagnosis,
  ui: Ui,
  width: number | null,
): string {
  const groups = Map.groupBy([...findings, ...notChecked], ({ id }) => id.split('.')[0]!);
  const lines = [...groups].flatMap(([group, found]) => [
    ui.paint('bold', group),
    ...found.toSorted((a, b) => rankOf(a) - rankOf(b)).flatMap((one) => linesOf(one, ui, width)),
    '',
  ]);
  const of = (severity: Severity) => findings.filter((one) => one.severity === severity).length;
  const sums = [
    count(checks, 'check'),
    count(of('error'), 'error'),
    count(of('warning'), 'warning'),
    count(of('note'), 'note'),
    `${notChecked.length} not checked`,
  ];
  return [...lines, sums.join(', ')].join('\n');
}

type Shown = Finding | Diagnosis['notChecked'][number];

function linesOf(one: Shown, ui: Ui, width: number | null): string[] {
  if ('because' in one) {
    const text = `not checked: ${one.id}, because ${withStop(one.because)}`;
    return wrapped(text, 2, 6, width).map((line) => ui.paint('dim', line));
  }
  const { severity, id, where, text, remedy } = one;
  const [first, ...rest] = wrapped(`${severity} ${id}, ${where}: ${text}`, 2, 6, width);
  const head = `  ${severity}`;
  return [
    `  ${ui.paint(styles[severity], severity)}${first!.slice(head.length)}`,
    ...rest,
    ...wrapped(remedy, 6, 6, width),
  ];
}

const rankOf = (one: Shown): number =>
  'because' in one ? severities.length : severities.indexOf(one.severity);
const withStop = (text: string): string => text.replace(/\.?$/, '.');

/** Cut at spaces only: an address or a command stays whole, however long. */
function wrapped(text: string, first: number, later: number, width: number | null): string[] {
  const lines: string[] = [];
  let line = ' '.repeat(first);
  let isEmpty = true;
  for (const word of plain(text).split(' ')) {
    if (!isEmpty && width !== null && line.length + 1 + word.length > width) {
      lines.push(line);
      line = ' '.repeat(later);
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}
