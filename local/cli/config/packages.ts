/** Optional packages that only development tools need. */

import { existsSync } from 'node:fs';
import { CliError } from '../errors.ts';

/**
 * Throws `CONFIG` unless all packages are installed. Callers use `import.meta.resolve` with a literal, so that readers and tests see
 * which packages are needed.
 */
export function checkPackages(
  needed: Readonly<Record<string, () => string>>,
  insteadOf: Readonly<Record<string, string>> = {},
): void {
  const missing = Object.entries(needed).flatMap(([name, find]) => (isThere(find) ? [] : [name]));
  if (missing.length === 0) return;
  const instead = missing.flatMap((name) => (Object.hasOwn(insteadOf, name) ? [` ${insteadOf[name]}`] : []));
  throw new CliError(
    'CONFIG',
    1,
    `This needs packages that are not installed: npm install --save-dev --ignore-scripts ${missing.join(' ')}.${instead.join('')}`,
  );
}

function isThere(find: () => string): boolean {
  try {
    return existsSync(new URL(find()));
  } catch {
    return false;
  }
}
