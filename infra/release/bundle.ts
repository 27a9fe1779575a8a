/**
 * Joins the core's modules into one file. Loading some thirty small files takes longer than running them: `import
 * 'longshore'` costs half as much. Every module keeps its own path as a list of re-exports, so that the rest of the
 * package, and whoever follows a type to its file, finds it where it was, and every class exists once. A module that
 * needs a package stays apart, so that a user's bundler can still leave both out.
 */

import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';

export async function bundleCore(folder: string): Promise<void> {
  const core = join(folder, 'core');
  const index = join(core, 'index.js');
  const { joined, apart } = await modulesOf(index);
  const exported = await exportsOf([index, ...joined, ...apart]);
  const inBundle = new Set<string>();
  for (const name of joined.flatMap((path) => exported.get(path)!)) {
    if (inBundle.has(name))
      throw new Error(`Expected every name in core once, got "${name}" twice. Rename one.`);
    inBundle.add(name);
  }
  const local = (path: string): string => `./${relative(core, path)}`;
  await build({
    ...shared,
    absWorkingDir: core,
    stdin: {
      contents: joined.map((path) => `export * from '${local(path)}';`).join('\n'),
      resolveDir: core,
      sourcefile: 'core.js',
    },
    plugins: [staticOnly, leave(apart)],
    outfile: join(core, 'bundle.js'),
    sourcemap: true,
    logLevel: 'warning',
  });
  const lines = [
    reExport(
      [...exported.get(index)!].filter((name) => inBundle.has(name)),
      './bundle.js',
    ),
    ...apart.map((path) => {
      const own = new Set(exported.get(path));
      return reExport(
        exported.get(index)!.filter((name) => own.has(name)),
        local(path),
      );
    }),
  ];
  replace(index, lines.join(''));
  for (const path of joined)
    replace(path, reExport(exported.get(path)!, `${relative(dirname(path), core) || '.'}/bundle.js`));
}

const reExport = (names: readonly string[], from: string): string =>
  `export { ${[...names].sort().join(', ')} } from '${from}';\n`;

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

const leave = (paths: readonly string[]): Plugin => ({
  name: 'leave these modules apart',
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ path, resolveDir }) =>
      paths.includes(join(resolveDir, path)) ? { path, external: true } : null,
    );
  },
});

const shared = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node22',
  packages: 'external',
} satisfies BuildOptions;

/** The files that `entry` loads at once, without itself and without modules of types alone. */
async function modulesOf(entry: string): Promise<{ joined: string[]; apart: string[] }> {
  const { metafile } = await build({
    ...shared,
    plugins: [staticOnly],
    entryPoints: [entry],
    write: false,
    metafile: true,
    absWorkingDir: dirname(entry),
    outdir: 'unused',
  });
  const inputs = Object.entries(metafile.inputs).map(([path, { imports }]) => ({
    path: join(dirname(entry), path),
    needsPackage: imports.some((to) => to.external && !/^(node:|\.)/.test(to.path)),
  }));
  const paths = (needsPackage: boolean) =>
    inputs.filter((one) => one.path !== entry && one.needsPackage === needsPackage).map(({ path }) => path);
  return { joined: paths(false), apart: paths(true) };
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
