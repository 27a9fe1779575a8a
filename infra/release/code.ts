/**
 * Bundles the code of the package. Opening a file takes longer than running it, so an entry point loads few files: its own, and those that it
 * shares with others. Code that is loaded on first use (`import()`) stays a file of its own, under the path of its source.
 */

import { readFileSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { transform } from 'esbuild';
import { build, type Plugin } from 'rolldown';
import { withoutEnding } from './manifest.ts';
import { partsIn } from './parts.ts';

export async function bundleCode(root: string, folder: string, entries: readonly string[]): Promise<void> {
  const inRoot = (id: string): string => withoutEnding(relative(root, id));
  await build({
    cwd: root,
    input: Object.fromEntries(entries.map((path) => [withoutEnding(path), join(root, path)])),
    platform: 'node',
    external: isPackage,
    checks: { bundlerTimings: false },
    plugins: [inlineScripts, filesByPath(inRoot), shortLines],
    treeshake: { moduleSideEffects: false },
    preserveEntrySignatures: 'strict',
    output: {
      dir: folder,
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: ({ name, facadeModuleId }) => {
        if (facadeModuleId) return `${inRoot(facadeModuleId)}.js`;
        if (name === 'rolldown-runtime') return 'core/runtime.js';
        return name.startsWith('core/') ? `${name}.js` : `shared/${name}.js`;
      },
      codeSplitting: { groups: [{ debugName: 'core', name: partsIn(root) }] },
      minify: false,
      minifyInternalExports: false,
      comments: { jsdoc: false, annotation: true, legal: true },
    },
  });
}

/** Also built-in modules. */
export const isPackage = (id: string): boolean => !id.startsWith('.') && !isAbsolute(id);

/** Replaces the URL of a script by its text: a bundler of a user does not copy files that are read beside `import.meta.url`. */
const inlineScripts: Plugin = {
  name: 'inline scripts',
  transform: (code, id) =>
    code.replaceAll(/new URL\('(\.\/[\w-]+\.lua)', import\.meta\.url\)/g, (_, script: string) =>
      JSON.stringify(withoutComments(readFileSync(join(dirname(id), script), 'utf8'))),
    ),
};

/** @param script in Lua */
const withoutComments = (script: string): string => script.replaceAll(/^\s*(--.*\n)*\s*/gm, '');

/**
 * The first file of a thread or of a child process is found by the path of the file that starts it, `new URL(`./isolate.${extension}`,
 * import.meta.url)`, which is joined with others. The URL is not written as a literal: a bundler of a user would follow it.
 */
function filesByPath(inRoot: (id: string) => string): Plugin {
  return {
    name: 'files found by path',
    transform(code, id) {
      return code.replaceAll(
        /new URL\(`([\w./-]+)\.\$\{[^`]+\}`, import\.meta\.url\)/g,
        (_, path: string) => {
          const found = join(dirname(id), `${path}.ts`);
          const file = this.emitFile({ type: 'chunk', id: found, name: inRoot(found) });
          return `new URL(import.meta.ROLLUP_FILE_URL_${file})`;
        },
      );
    },
    resolveFileUrl: ({ relativePath }) =>
      `new URL([${JSON.stringify(withoutEnding(relativePath))}, "js"].join("."), import.meta.url).href`,
  };
}

/** Most of it are the laws of backends: a failure names its law, so short names hide nothing there. */
const shortNames = 'test/testing/index.js';

/** Leaves out spaces, but keeps names and short lines, so that a stack trace still leads to the place. */
const shortLines: Plugin = {
  name: 'short lines',
  async renderChunk(code, { fileName }) {
    const minified = await transform(code, {
      minifyWhitespace: true,
      minifySyntax: true,
      minifyIdentifiers: fileName === shortNames,
      lineLimit: 160,
      charset: 'utf8',
      target: 'node22',
    });
    return { code: minified.code };
  },
};
