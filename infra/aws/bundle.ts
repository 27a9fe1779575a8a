/** Bundles a function as it is deployed: minified, the SDK in a part of its own that is loaded on first use. */

import { build, type Plugin } from 'esbuild';

export interface Bundled {
  /** Bytes of the file that is loaded at the start, with what it imports statically. */
  readonly startBytes: number;
  /** Files that are loaded at the start. */
  readonly startInputs: string[];
}

/** @param fromLayer packages that bring native code or files: loaded on first use, from a Lambda layer */
export async function bundleFunction(
  entry: string,
  folder: string,
  fromLayer: readonly string[] = [],
): Promise<Bundled> {
  const { metafile } = await build({
    entryPoints: { main: entry },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    mainFields: ['module', 'main'],
    // Some packages of the SDK still ask for node's modules by require.
    banner: {
      js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);",
    },
    plugins: [onDemand(fromLayer)],
    metafile: true,
    logLevel: 'warning',
  });
  const start = Object.keys(metafile.outputs).find((path) => path.endsWith('main.mjs'))!;
  const loaded = new Set<string>([start]);
  for (const path of loaded) {
    for (const { path: next, kind } of metafile.outputs[path]!.imports) {
      if (kind === 'import-statement' && metafile.outputs[next]) loaded.add(next);
    }
  }
  const outputs = [...loaded].map((path) => metafile.outputs[path]!);
  return {
    startBytes: outputs.reduce((sum, { bytes }) => sum + bytes, 0),
    startInputs: outputs.flatMap(({ inputs }) => Object.keys(inputs)),
  };
}

/** Node looks for what is required in the layers too, but not for what is imported. */
function onDemand(names: readonly string[]): Plugin {
  const trap = (name: string) => `new Proxy(function () {}, {
    apply: (_, self, args) => require(${name}).apply(self, args),
    construct: (_, args) => new (require(${name}))(...args),
    get: (_, member) => require(${name})[member],
  })`;
  return {
    name: 'from a layer',
    setup({ onResolve, onLoad }) {
      if (names.length === 0) return;
      const filter = new RegExp(`^(${names.join('|')})$`);
      onResolve({ filter }, ({ path }) => ({ path, namespace: 'layer', sideEffects: false }));
      onLoad({ filter: /.*/, namespace: 'layer' }, ({ path }) => ({
        contents: `export default ${trap(JSON.stringify(path))};`,
      }));
    },
  };
}
