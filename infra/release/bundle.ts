/**
 * Joins the core's modules into three files. Loading some thirty small files takes longer than running them: joined, `import 'longshore'` takes
 * half the time. A bundler keeps or drops whole files, so there are three: a function loads the code that defines jobs at its start, the code
 * that runs them with its first event, and the polling worker never. Every module keeps its path as a list of re-exports: imports of the package
 * and links from types still work, and every class exists once. Two kinds of modules stay separate: those that need a package, so that a user's
 * bundler can leave both out, and those that find files by their own path.
 */

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';

export async function bundleCore(folder: string): Promise<void> {
  const core = join(folder, 'core');
  const index = join(core, 'index.js');
  const { joined, apart } = await modulesOf(index);
  const parts = partsOf(core, index, joined);
  const paths = [...joined.keys()];
  const exported = await exportsOf([index, ...paths, ...apart]);
  for (const [file, modules] of parts) await joinPart(core, file, modules, parts, apart, exported);
  const own = (names: readonly string[]) => exported.get(index)!.filter((name) => names.includes(name));
  const lines = [
    ...[...parts].map(([file, modules]) =>
      reExport(own(modules.flatMap((path) => exported.get(path)!)), `./${file}`),
    ),
    ...apart.map((path) => reExport(own(exported.get(path)!), `./${relative(core, path)}`)),
  ];
  replace(index, lines.join(''));
  for (const [file, modules] of parts) {
    for (const path of modules)
      replace(path, reExport(exported.get(path)!, `${relative(dirname(path), core) || '.'}/${file}`));
  }
}

/** The modules of each file. */
type Parts = ReadonlyMap<string, readonly string[]>;

function partsOf(core: string, index: string, joined: ReadonlyMap<string, readonly string[]>): Parts {
  const worker = join(core, 'routing/worker.js');
  const reach = (from: readonly string[], without: ReadonlySet<string>): Set<string> => {
    const found = new Set(from);
    for (const path of found) {
      for (const next of joined.get(path) ?? []) if (joined.has(next) && !without.has(next)) found.add(next);
    }
    return found;
  };
  const define = reach(
    [
      ...joined.get(index)!.filter((path) => joined.has(path) && path !== worker),
      // A function with several backends uses it, and must not load the polling worker with it.
      ...[join(core, 'routing/other-backends.js')].filter((path) => joined.has(path)),
      // The stores and queues of clouds use them, too: otherwise a bundler would keep the worker's file for them.
      ...[...joined.keys()].filter((path) => /^(base|contract|envelope|kit)\//.test(relative(core, path))),
    ],
    new Set([worker]),
  );
  const attempts = [
    'kernel/flow.js',
    'kernel/attempt/run.js',
    'kernel/worker/watch-runs.js',
    'kernel/worker/renew-leases.js',
    'features/metrics/collector.js',
    'kernel/worker/chores.js', // a function of schedules uses them, and must not load the polling worker
  ]
    .map((name) => join(core, name))
    .filter((path) => joined.has(path));
  const run = reach(attempts, define);
  const all = [...joined.keys()].filter((path) => path !== index);
  return new Map([
    ['bundle.js', all.filter((path) => define.has(path))],
    ['bundle-run.js', all.filter((path) => run.has(path) && !define.has(path))],
    ['bundle-worker.js', all.filter((path) => !run.has(path) && !define.has(path))],
  ]);
}

async function joinPart(
  core: string,
  file: string,
  modules: readonly string[],
  parts: Parts,
  apart: readonly string[],
  exported: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const names = new Set<string>();
  for (const name of modules.flatMap((path) => exported.get(path)!)) {
    if (names.has(name))
      throw new Error(`Expected every name in core once, got "${name}" twice. Rename one.`);
    names.add(name);
  }
  await build({
    ...shared,
    absWorkingDir: core,
    stdin: {
      contents: modules.map((path) => `export * from './${relative(core, path)}';`).join('\n'),
      resolveDir: core,
      sourcefile: 'core.js',
    },
    plugins: [keepDynamic(core), leave(core, apart), fromOther(parts, file)],
    outfile: join(core, file),
    sourcemap: true,
    logLevel: 'warning',
  });
}

/** Imports the modules of another file from that file. */
const fromOther = (parts: Parts, own: string): Plugin => ({
  name: 'import from the other parts',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
      const module = join(resolveDir, path);
      const holder = [...parts].find(([file, modules]) => file !== own && modules.includes(module));
      return holder ? { path: `./${holder[0]}`, external: true } : null;
    });
  },
});

/** Empty for no names, because a bare import would keep the file in every bundle. */
const reExport = (names: readonly string[], from: string): string =>
  names.length === 0 ? '' : `export { ${[...names].sort().join(', ')} } from '${from}';\n`;

function replace(path: string, text: string): void {
  writeFileSync(path, text);
  rmSync(`${path}.map`, { force: true });
}

const staticOnly: Plugin = {
  name: 'leave dynamic imports where they are',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ kind, path }) =>
      kind === 'dynamic-import' ? { path, external: true } : null,
    );
  },
};

/** The same, for a file in `core` itself. */
const keepDynamic = (core: string): Plugin => ({
  name: 'import from where the joined file lies',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) =>
      kind === 'dynamic-import'
        ? { path: `./${relative(core, join(resolveDir, path))}`, external: true }
        : null,
    );
  },
});

const leave = (core: string, paths: readonly string[]): Plugin => ({
  name: 'leave these modules apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ path, resolveDir }) => {
      const module = join(resolveDir, path);
      return paths.includes(module) ? { path: `./${relative(core, module)}`, external: true } : null;
    });
  },
});

const shared = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  packages: 'external',
} satisfies BuildOptions;

/**
 * The files that `entry` loads at once, without modules of types only: those to be joined, including itself, each with its imports; and those
 * that stay separate.
 */
async function modulesOf(
  entry: string,
): Promise<{ joined: Map<string, readonly string[]>; apart: readonly string[] }> {
  const { metafile } = await build({
    ...shared,
    plugins: [staticOnly],
    entryPoints: [entry],
    write: false,
    metafile: true,
    absWorkingDir: dirname(entry),
    outdir: 'unused',
  });
  const knowsItsPath = (path: string): boolean =>
    readFileSync(join(dirname(entry), path), 'utf8').includes('import.meta.url');
  const inputs = Object.entries(metafile.inputs).map(([path, { imports }]) => ({
    path: join(dirname(entry), path),
    staysApart: imports.some((to) => to.external && !/^(node:|\.)/.test(to.path)) || knowsItsPath(path),
    imports: imports.filter((to) => !to.external).map((to) => join(dirname(entry), to.path)),
  }));
  return {
    joined: new Map(inputs.filter((one) => !one.staysApart).map((one) => [one.path, one.imports])),
    apart: inputs.filter((one) => one.staysApart).map(({ path }) => path),
  };
}

async function exportsOf(paths: readonly string[]): Promise<Map<string, string[]>> {
  const folder = dirname(paths[0]!);
  const { metafile } = await build({
    ...shared,
    plugins: [staticOnly],
    entryPoints: [...paths],
    splitting: true,
    write: false,
    metafile: true,
    absWorkingDir: folder,
    outdir: 'unused',
  });
  const outputs = Object.values(metafile.outputs).filter(({ entryPoint }) => entryPoint !== undefined);
  return new Map(outputs.map(({ entryPoint, exports }) => [join(folder, entryPoint!), exports]));
}
