import Table from 'cli-table3';
import { grouped, paint, seconds } from './lines.ts';
import { drawOutcomes } from './picture.ts';
import { type Finding, holds } from './proof.ts';
import type { Outcomes } from './tally.ts';

export interface Summary {
  readonly backend: string;
  readonly durationMs: number;
  readonly findings: readonly Finding[];
  readonly outcomes: Readonly<Outcomes>;
  readonly rows: number;
  readonly rowsPerSecond: number | null;
  readonly folder: string;
}

export function summaryText(summary: Summary): string {
  const { backend, durationMs, findings, outcomes, rows, rowsPerSecond, folder } = summary;
  const speed = rowsPerSecond === null ? '' : ` at ${grouped(rowsPerSecond)} rows/s`;
  const missing = missingText(findings);
  const verdict = missing.length === 0 ? paint('green', 'all as expected') : paint('red', 'not as expected');
  return indented([
    '',
    `${paint('bold', `${grouped(jobsIn(outcomes))} jobs in ${seconds(durationMs)} on ${backend}`)}, ${verdict}`,
    `${grouped(rows)} orders imported${speed}`,
    drawOutcomes(outcomes),
    '',
    ...table(findings).split('\n'),
    '',
    ...missing.map((text) => paint('red', text)),
    `Invoices, pictures and the report: ${folder}`,
    'What you have just seen, and how it is written: examples/README.md',
    '',
  ]);
}

export function missingText(findings: readonly Finding[]): string[] {
  return findings
    .filter((finding) => !holds(finding))
    .map(({ what, expected, found }) => `${what}: expected ${grouped(expected)}, found ${grouped(found)}`);
}

const indented = (lines: readonly string[]): string =>
  lines.map((line) => (line === '' ? '' : `  ${line}`)).join('\n');

function table(findings: readonly Finding[]): string {
  const drawn = new Table({
    head: ['found afterwards', 'expected', 'found', ''].map((text) => paint('dim', text)),
    colAligns: ['left', 'right', 'right', 'left'],
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
    chars: noLines,
  });
  for (const finding of findings) {
    const { what, expected, found, atLeast } = finding;
    const sign = holds(finding) ? paint('green', '✓') : paint('red', '✗');
    drawn.push([what, `${atLeast ? '≥ ' : ''}${grouped(expected)}`, grouped(found), sign]);
  }
  return drawn.toString().replace(/ +$/gm, '');
}

/** White space aligns well enough; lines around every number are noise. */
const noLines = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
    'middle',
  ].map((name) => [name, '']),
);

export interface Drained {
  /** The summary has said the rest. */
  readonly complete: boolean;
  readonly outcomes: Readonly<Outcomes>;
  readonly released: number;
  readonly waiting: number;
  readonly folder: string;
}

export function drainedText({ complete, outcomes, released, waiting, folder }: Drained): string {
  const rest = complete ? [] : [drawOutcomes(outcomes), `Files so far: ${folder}`, ''];
  return indented([
    ...(complete ? [] : ['']),
    `Drained: ${grouped(jobsIn(outcomes))} jobs finished, ${released} released, ${grouped(waiting)} waiting in the queue.`,
    ...rest,
  ]);
}

/** Jobs that ended; `requeued` counts attempts of jobs that go on. */
function jobsIn({ requeued: _, ...finals }: Readonly<Outcomes>): number {
  return Object.values(finals).reduce((sum, n) => sum + n, 0);
}
