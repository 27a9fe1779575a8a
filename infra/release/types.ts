/** Rolls the types up: a file of declarations for each entry point, and those that several of them share. */

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, type Plugin } from 'rolldown';
import { dts } from 'rolldown-plugin-dts';
import { isPackage } from './code.ts';
import { withoutEnding } from './manifest.ts';

export async function bundleTypes(root: string, folder: string, entries: readonly string[]): Promise<void> {
  const declared = mkdtempSync(join(tmpdir(), 'longshore-types-'));
  try {
    const compiler = join(root, 'node_modules/typescript/bin/tsc');
    const options = ['-p', join(root, 'tsconfig.build.json'), '--outDir', declared];
    const { status } = spawnSync(process.execPath, [compiler, ...options], { stdio: 'inherit' });
    if (status !== 0) process.exit(status ?? 1);
    const names = entries.map(withoutEnding);
    await build({
      cwd: declared,
      input: Object.fromEntries(names.map((name) => [name, join(declared, `${name}.d.ts`)])),
      external: isPackage,
      checks: { bundlerTimings: false },
      plugins: [dts({ dtsInput: true, tsconfig: false }), onlyTypes],
      output: {
        dir: folder,
        format: 'esm',
        entryFileNames: '[name].ts',
        chunkFileNames: 'types/[name].ts',
        minifyInternalExports: false,
      },
    });
  } finally {
    rmSync(declared, { recursive: true, force: true });
  }
}

/** Leaves out the bundler's own code, which no declaration imports. */
const onlyTypes: Plugin = {
  name: 'only types',
  generateBundle(_, bundle) {
    for (const file of Object.keys(bundle)) if (!file.endsWith('.d.ts')) delete bundle[file];
  },
};
