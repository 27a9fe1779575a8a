/** Bundles functions with one call of esbuild. docs/aws.md and docs/azure.md have the same call as a command line. */

import { existsSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { BuildOptions, Metafile, Plugin } from 'esbuild';
import { config } from '../../core/base/errors.ts';

export interface Bundle {
  /** The names that the entry exports. */
  readonly exports: readonly string[];
  /** The texts of the app's own files, without packages. */
  readonly ownTexts: readonly string[];
  /** Optional packages that are not installed: they are not in the bundle. */
  readonly missing: readonly string[];
  /** The part that is loaded first: main.mjs with its static imports. */
  readonly start: { readonly bytes: number; readonly inputs: readonly string[] };
}

/** Some packages still load modules of Node with `require`, which an ES module does not have. */
export const requireBanner =
  "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);";

export interface BundleOptions {
  /** The major version of Node that runs it. */
  readonly node: number;
  /** Packages that only the platform has. */
  readonly external?: readonly string[];
  /** Packages that lie beside the bundle or in a layer. */
  readonly installed?: readonly string[];
  /** For reading stacks: not minified, with a source map. */
  readonly readable?: boolean;
}

/** The name of the file that a platform loads. */
export const mainFile = 'main.mjs';

/** Writes main.mjs and its parts into the folder. Throws `CONFIG` with what to do. */
export async function bundle(entry: string, folder: string, options: BundleOptions): Promise<Bundle> {
  const { build } = await import('esbuild');
  const { node, external = [], installed = [], readable = false } = options;
  const settings = {
    entryPoints: { main: entry },
    outdir: folder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true, // an SDK is loaded when it is used
    minify: !readable,
    sourcemap: readable && 'inline',
    format: 'esm',
    platform: 'node',
    target: `node${node}`,
    mainFields: ['module', 'main'],
    banner: { js: requireBanner },
    external: [...external],
    plugins: installed.length > 0 ? [fromBeside(installed)] : [],
    metafile: true,
    logLevel: 'silent',
  } satisfies BuildOptions;
  const { metafile } = await build(settings).catch((cause: unknown) => {
    throw notBundled(cause, dirname(entry));
  });
  const inputs = Object.keys(metafile.inputs).map((path) => resolve(path));
  refuseNative(inputs);
  const own = inputs.filter((path) => existsSync(path) && !path.includes('/node_modules/') && !isOurs(path));
  return {
    exports: metafile.outputs[mainOf(metafile)]!.exports,
    ownTexts: own.map((path) => readFileSync(path, 'utf8')),
    missing: missingIn(metafile, [...external, ...installed]),
    start: startOf(metafile),
  };
}

const ourRooms = ['core', 'functions', 'local'].map(
  (room) => `${resolve(import.meta.dirname, '../..', room)}/`,
);
const isOurs = (path: string): boolean => ourRooms.some((room) => path.startsWith(room));

const mainOf = ({ outputs }: Metafile): string =>
  Object.keys(outputs).find((path) => basename(path) === mainFile)!;

/** Packages that esbuild leaves to the run time, because the `import()` of them handles a failure. */
function missingIn({ outputs }: Metafile, expected: readonly string[]): string[] {
  const names = Object.values(outputs).flatMap(({ imports }) =>
    imports.flatMap(({ external, path }) =>
      external && !/^[./]/.test(path) && !isBuiltin(path) ? [packageOf(path)] : [],
    ),
  );
  return [...new Set(names)].filter((name) => !expected.includes(name)).sort();
}

function startOf(metafile: Metafile): Bundle['start'] {
  const { outputs } = metafile;
  const loaded = new Set([mainOf(metafile)]);
  for (const path of loaded) {
    for (const { path: next, kind } of outputs[path]!.imports)
      if (kind === 'import-statement' && outputs[next]) loaded.add(next);
  }
  const parts = [...loaded].map((path) => outputs[path]!);
  return {
    bytes: parts.reduce((sum, { bytes }) => sum + bytes, 0),
    inputs: parts.flatMap(({ inputs }) => Object.keys(inputs)),
  };
}

/** The package of an import or of a path: `@aws-sdk/client-sqs`. */
const packageOf = (path: string): string => /^(@[^/]+\/)?[^/]+/.exec(path)![0];

interface EsbuildMessage {
  readonly text: string;
  readonly location: { readonly file: string; readonly line: number } | null;
}

function notBundled(cause: unknown, folder: string): unknown {
  const { errors: [first] = [] } = cause as { errors?: readonly EsbuildMessage[] };
  if (!first) return cause;
  const { text, location } = first;
  const where = location ? ` (${relative(folder, resolve(location.file))}, line ${location.line})` : '';
  const [, native] = /No loader is configured for "\.node" files: (.*)/.exec(text) ?? [];
  if (native !== undefined) return nativeCode(packageIn(native) ?? native);
  const [, missing] = /Could not resolve "([^"]+)"/.exec(text) ?? [];
  const remedy =
    missing !== undefined && !/^[./]/.test(missing) ? ` Run npm install ${packageOf(missing)}.` : '';
  return config(`The functions could not be bundled: ${text}${where}.${remedy}`);
}

/** Packages that find their native code at run time, where a bundler does not see it. */
const loadersOfNativeCode = [
  '@mapbox/node-pre-gyp',
  'bindings',
  'detect-libc',
  'node-gyp-build',
  'prebuild-install',
];

function refuseNative(inputs: readonly string[]): void {
  const loaders = inputs.map(packageIn).filter((name) => name !== null && loadersOfNativeCode.includes(name));
  if (loaders.length === 0) return;
  for (const path of inputs) {
    const name = packageIn(path);
    if (name === null || loadersOfNativeCode.includes(name)) continue;
    const folder = path.slice(0, path.lastIndexOf(`/node_modules/${name}/`) + `/node_modules/${name}`.length);
    const { dependencies = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
    if (loadersOfNativeCode.some((loader) => Object.hasOwn(dependencies, loader))) throw nativeCode(name);
  }
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

/** The package that a path belongs to; `null` = a file of the app. */
function packageIn(path: string): string | null {
  const at = path.lastIndexOf('node_modules/');
  return at < 0 ? null : packageOf(path.slice(at + 'node_modules/'.length));
}

const nativeCode = (name: string) =>
  config(
    `The package "${name}" has native code, which a bundle cannot hold. Write \`export const deployment = { installed: ['${name}'] }\` in the config: it is then installed beside the bundle, for the machine of the function. A Lambda layer or a container image does as well.`,
  );

/** Loads these packages when they are used. Node finds modules in layers with `require`, but not with `import`. */
function fromBeside(names: readonly string[]): Plugin {
  // Not named `require`, because a bundler would follow it, here to this module itself.
  const trap = (name: string) => `import { createRequire } from 'node:module';
    const load = createRequire(import.meta.url);
    export default new Proxy(function () {}, {
      apply: (_, self, args) => load(${name}).apply(self, args),
      construct: (_, args) => new (load(${name}))(...args),
      get: (_, member) => load(${name})[member],
    });`;
  const filter = new RegExp(`^(${names.map((name) => name.replace(/[.\\]/g, '\\$&')).join('|')})$`);
  return {
    name: 'from beside the bundle',
    setup({ onResolve, onLoad }) {
      // Inside the trap the name refers to the package itself.
      onResolve({ filter }, ({ path, namespace }) =>
        namespace === 'beside' ? { path, external: true } : { path, namespace: 'beside', sideEffects: false },
      );
      onLoad({ filter: /.*/, namespace: 'beside' }, ({ path }) => ({ contents: trap(JSON.stringify(path)) }));
    },
  };
}
