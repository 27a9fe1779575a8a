/** What a function has to load before it can run its first job, beside what else is used for that. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle } from '../../../local/package/bundle.ts';
import { type Bench, limitRow, median, type Row, ratioRow } from '../kit/bench.ts';
import { baseline, compareStarts, mostBytes } from './start.ts';

/** Imports are timed so often, in a new process each time. */
const starts = 20;
const kb = (bytes: number): number => bytes / 1024;
const entry = (name: string): string => join(import.meta.dirname, 'entries', name);

const beside: readonly (readonly [name: string, entry: string])[] = [
  ['Powertools batch + idempotency + logger', 'powertools.mjs'],
  ['middy + sqs-partial-batch-failure', 'middy.mjs'],
  ['the schema library: zod', 'zod.ts'],
  ['the schema library: zod/mini', 'zod-mini.ts'],
  ['the schema library: valibot', 'valibot.ts'],
  ['the SDK, at its first use: client-sqs', 'sqs.ts'],
  ['the SDK, at its first use: client-dynamodb', 'dynamodb.ts'],
];

export async function size(bench: Bench): Promise<Row[]> {
  const folder = bench.folder();
  const ours = await bundle(entry('longshore.ts'), folder, { node: 24 });
  const scheduledFolder = bench.folder();
  await bundle(entry('scheduled.ts'), scheduledFolder, { node: 24 });
  const { now, before } = await compareStarts(bench.folder(), starts);
  const rows = [
    limitRow('worker: loaded at the start', 'KB', [kb(ours.start.bytes)], kb(mostBytes)),
    limitRow('worker: import', 'ms', [importMs(folder, '')], null),
    limitRow('worker: import and an empty first event', 'ms', [importMs(folder, emptyEvent)], null),
    limitRow('worker of an app with cron: import', 'ms', [importMs(scheduledFolder, '')], null),
    ratioRow(
      'worker: CPU until the first job begins',
      'ms',
      now.map((ms, i) => ({ ours: ms, theirs: before[i]! })),
      { most: 1.1 },
      baseline,
    ),
  ];
  for (const [name, file] of beside) {
    const own = bench.folder();
    const { start } = await bundle(entry(file), own, { node: 24 });
    rows.push(limitRow(name, 'KB', [kb(start.bytes)], null));
    rows.push(limitRow(`${name}: import`, 'ms', [importMs(own, '')], null));
  }
  return rows;
}

const emptyEvent =
  'await main.worker({ Records: [] }, { awsRequestId: "1", getRemainingTimeInMillis: () => 1000 });';

function importMs(folder: string, then: string): number {
  const program = join(folder, 'program.mjs');
  const code = `const at = performance.now(); const main = await import('./main.mjs'); ${then} console.log(performance.now() - at);`;
  writeFileSync(program, code);
  const times = Array.from({ length: starts }, () =>
    Number(execFileSync(process.execPath, [program], { encoding: 'utf8' })),
  );
  return median(times);
}
