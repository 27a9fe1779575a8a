/** Bundles a function for deployment: minified, with the SDK in a separate part that is loaded on first use. */

import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';

export interface Bundled {
  /** Size of the file that is loaded at the start, with its static imports. */
  readonly startBytes: number;
  /** Files that are loaded at the start. */
  readonly startInputs: string[];
}

const shape = {
  bundle: true,
  minify: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  logLevel: 'warning',
} satisfies BuildOptions;

/** @param installed packages with native code or files: loaded on first use, from beside the bundle or from a Lambda layer */
export async function bundleFunction(
  entry: string,
  folder: string,
  installed: readonly string[] = [],
): Promise<Bundled> {
  const { metafile } = await build({
    entryPoints: { main: entry },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    ...shape,
    splitting: true,
    mainFields: ['module', 'main'],
    plugins: [onDemand(installed)],
    metafile: true,
  });
  const { outputs } = metafile;
  provideRequire(Object.keys(outputs));
  /** The given files and all their static imports. */
  function loadedBy(...paths: string[]): string[] {
    const loaded = new Set(paths);
    for (const path of loaded) {
      for (const { path: next, kind } of outputs[path]!.imports) {
        if (kind === 'import-statement' && outputs[next]) loaded.add(next);
      }
    }
    return [...loaded];
  }
  const start = Object.keys(outputs).find((path) => path.endsWith('main.mjs'))!;
  const atStart = loadedBy(start);
  const startBytes = await joinFiles(folder, startFile, atStart, outputs);
  const partOf = (module: string) =>
    Object.keys(outputs).find((path) => path !== start && outputs[path]!.entryPoint?.endsWith(module));
  // Only this part, because every worker function loads all of it with its first event.
  const worker = partOf('functions/aws/lambda/worker.ts') ?? partOf('functions/aws/lambda/worker.js');
  if (worker !== undefined) {
    const ofWorker = loadedBy(worker).filter((path) => !atStart.includes(path));
    await joinFiles(folder, workerFile, ofWorker, outputs);
  }
  return { startBytes, startInputs: atStart.flatMap((path) => Object.keys(outputs[path]!.inputs)) };
}

/** Some packages still load Node's modules with `require`, which an ES module does not have. */
function provideRequire(paths: readonly string[]): void {
  const banner =
    "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);\n";
  for (const path of paths) {
    const text = readFileSync(path, 'utf8');
    if (text.includes('Dynamic require of')) writeFileSync(path, banner + text);
  }
}

const startFile = 'start.mjs';
const workerFile = 'worker.mjs';

/**
 * Splitting puts code that is loaded together into many small files, one for every set of parts that shares it. Opening a file takes longer than
 * running it: an empty first event takes 7.3 ms instead of 4.9. So they are joined into one file. Each small file stays as a list of re-exports
 * for parts that are loaded later. Returns the bytes that are loaded with the first of them.
 */
async function joinFiles(
  folder: string,
  into: string,
  paths: readonly string[],
  outputs: Metafile['outputs'],
): Promise<number> {
  const [main, ...shared] = paths.map((path) => {
    const file = basename(path);
    return { file, exports: outputs[path]!.exports };
  });
  const inner = (i: number, name: string) => `$${i}${name}`;
  const lines = [
    `export { ${main!.exports.join(', ')} } from './${main!.file}';`,
    ...shared.flatMap(({ file, exports }, i) =>
      exports.map((name) => `export { ${name} as ${inner(i, name)} } from './${file}';`),
    ),
  ];
  const { outputFiles } = await build({
    ...shape,
    stdin: { contents: lines.join('\n'), resolveDir: folder },
    write: false,
    plugins: [leaveOthers],
  });
  writeFileSync(join(folder, into), outputFiles[0]!.contents);
  const reExport = (names: readonly string[]) => `export{${names.join()}}from"./${into}";\n`;
  writeFileSync(join(folder, main!.file), reExport(main!.exports));
  for (const [i, { file, exports }] of shared.entries()) {
    writeFileSync(join(folder, file), reExport(exports.map((name) => `${inner(i, name)} as ${name}`)));
  }
  return outputFiles[0]!.contents.length + reExport(main!.exports).length;
}

const leaveOthers: Plugin = {
  name: 'leave what is loaded later, or was joined before',
  setup({ onResolve }) {
    // Some parts import each other only for their order, so no import may be dropped, whatever `sideEffects` of the package says.
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) =>
      kind === 'dynamic-import' || path === `./${startFile}`
        ? { path, external: true }
        : { path: join(resolveDir, path), sideEffects: true },
    );
  },
};

/** Node finds modules in layers with `require`, but not with `import`. */
export function onDemand(names: readonly string[]): Plugin {
  // Not named `require`, because a bundler would follow it, here to this module itself.
  const trap = (name: string) => `import { createRequire } from 'node:module';
    const load = createRequire(import.meta.url);
    export default new Proxy(function () {}, {
      apply: (_, self, args) => load(${name}).apply(self, args),
      construct: (_, args) => new (load(${name}))(...args),
      get: (_, member) => load(${name})[member],
    });`;
  return {
    name: 'from a layer',
    setup({ onResolve, onLoad }) {
      if (names.length === 0) return;
      const filter = new RegExp(`^(${names.join('|')})$`);
      // Inside the trap the name refers to the package itself.
      onResolve({ filter }, ({ path, namespace }) =>
        namespace === 'layer' ? { path, external: true } : { path, namespace: 'layer', sideEffects: false },
      );
      onLoad({ filter: /.*/, namespace: 'layer' }, ({ path }) => ({
        contents: trap(JSON.stringify(path)),
      }));
    },
  };
}
