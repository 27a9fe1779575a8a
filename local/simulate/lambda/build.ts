/** Bundles an entry for the simulation, unless its config does so as its deployment does. */

import { join } from 'node:path';
import { LongshoreError } from '../../../core/base/errors.ts';

/** Throws `CONFIG` with the first error of esbuild. */
export async function buildFunctions(entry: string, folder: string): Promise<void> {
  const { build } = await import('esbuild');
  try {
    await build({
      entryPoints: [entry],
      outfile: join(folder, 'main.mjs'),
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: `node${process.versions.node.split('.')[0]}`,
      mainFields: ['module', 'main'],
      sourcemap: 'inline',
      // Some packages of the SDK still load node's modules with require.
      banner: {
        js: "import{createRequire as requireOf}from'node:module';const require=requireOf(import.meta.url);",
      },
      logLevel: 'silent',
    });
  } catch (cause) {
    const { errors: [first] = [] } = cause as { errors?: readonly EsbuildMessage[] };
    if (!first) throw cause;
    const { text, location } = first;
    const where = location ? ` (${location.file}, line ${location.line})` : '';
    throw new LongshoreError('CONFIG', `The functions could not be bundled: ${text}${where}.`, { cause });
  }
}

interface EsbuildMessage {
  readonly text: string;
  readonly location: { readonly file: string; readonly line: number } | null;
}
