/** The parts that packages for AWS and for Azure share: a request, a result, and a bundle in a temporary folder. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { config } from '../../core/base/errors.ts';
import type { App } from '../../core/kernel/app/app.ts';
import { type Bundle, type BundleOptions, bundle } from './bundle.ts';

export interface PackageRequest<Template extends string> {
  readonly app: App;
  readonly service: string;
  /** A path. */
  readonly entry: string;
  readonly out: string;
  readonly installed: readonly string[];
  /** `none` = only the bundle. */
  readonly template: Template | 'none';
  readonly force: boolean;
}

export interface Packaged<Plan> {
  readonly plan: Plan;
  readonly startBytes: number;
  /** Paths of the files that were written besides the bundle. */
  readonly written: readonly string[];
}

interface Sdk {
  /** Begins the names of its packages: `@azure/`. */
  readonly scope: string;
  /** Every app names them, and few use them. */
  readonly optional: readonly string[];
}

/** Bundles into a temporary folder, which `use` copies from. Throws `CONFIG` if a package of the SDK is not installed. */
export async function withBundle<Result>(
  entry: string,
  options: BundleOptions,
  { scope, optional }: Sdk,
  use: (bundled: Bundle, folder: string) => Result,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-package-'));
  try {
    const bundled = await bundle(entry, folder, options);
    const needed = bundled.missing.filter((name) => name.startsWith(scope) && !optional.includes(name));
    if (needed.length > 0)
      throw config(
        `The functions need ${needed.join(', ')}, which is not installed. Run npm install ${needed.join(' ')}.`,
      );
    return use(bundled, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
