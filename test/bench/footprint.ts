/** What Longshore costs before it has done anything: memory and bytes. */

import { join } from 'node:path';
import { build } from 'esbuild';
import { type Bench, limitRow, type Row } from './kit/bench.ts';

export async function rss(bench: Bench): Promise<Row[]> {
  const samples: number[] = [];
  for (let round = 0; round < bench.rounds; round++) {
    const folder = bench.folder();
    const path = join(folder, 'queue.db');
    await bench.run('fill', { path, count: 20_000 });
    samples.push(await bench.run<number>('residentMb', { path, folder, count: 20_000, concurrency: 50 }));
  }
  return [limitRow('memory of a worker after 20,000 jobs', 'MB', samples, 90)];
}

export async function bundle(bench: Bench): Promise<Row[]> {
  const sizes: [string, string][] = [
    [
      'core in a bundle, minified: enqueue',
      "export { connect, createApp, defineJob } from './core/index.ts';",
    ],
    [
      '… and run, as in a function',
      "export { attempt } from './core/kernel/flow.ts'; export { createRun } from './core/kernel/attempt/run.ts';",
    ],
    ['… and the polling worker', "export { startWorker } from './core/index.ts';"],
  ];
  const rows: Row[] = [];
  let contents = '';
  for (const [what, more] of sizes) {
    contents += `${more}\n`;
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: bench.root, loader: 'ts' },
      bundle: true,
      minify: true,
      platform: 'node',
      format: 'esm',
      target: 'node22',
      write: false,
      logLevel: 'silent',
    });
    rows.push(limitRow(what, 'KB', [outputFiles[0]!.contents.length / 1024], null));
  }
  return rows;
}
