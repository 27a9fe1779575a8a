/** What Longshore costs before it has done anything: memory, start-up time, bytes. */

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { type Bench, limitRow, median, type Row } from './bench.ts';

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

/** The compiled package: type stripping is not what users pay for. */
export async function load(bench: Bench): Promise<Row[]> {
  const folder = bench.folder();
  const compiler = join(bench.root, 'node_modules/typescript/bin/tsc');
  const project = join(bench.root, 'tsconfig.build.json');
  const compiled = spawnSync(process.execPath, [compiler, '-p', project, '--outDir', folder], {
    encoding: 'utf8',
  });
  const entry = join(folder, 'core/index.js');
  if (!existsSync(entry)) throw new Error(`The package did not compile.\n${compiled.stdout}`);
  symlinkSync(join(bench.root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  writeFileSync(join(folder, 'empty.js'), 'export {};\n');
  const elapsed = (path: string): number => {
    const code = `import(${JSON.stringify(pathToFileURL(path).href)}).then(() => console.log(performance.now()))`;
    return Number(execFileSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' }));
  };
  const samples: number[] = [];
  for (let i = 0; i < 15; i++) {
    const without = elapsed(join(folder, 'empty.js'));
    samples.push(elapsed(entry) - without);
  }
  return [limitRow('import "longshore"', 'ms', [median(samples)], 10)];
}

export async function bundle(bench: Bench): Promise<Row[]> {
  const contents = `
    import { connect, createApp, defineJob, startWorker } from './core/index.ts';
    export { connect, createApp, defineJob, startWorker };`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: bench.root },
    bundle: true,
    minify: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    write: false,
    logLevel: 'silent',
  });
  return [limitRow('core in a bundle, minified', 'KB', [outputFiles[0]!.contents.length / 1024], 20)];
}
