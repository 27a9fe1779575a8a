/** What errors of all SDKs of Azure have in common. */

import { LongshoreError } from '../../core/base/errors.ts';
import { toError } from '../../core/base/failure.ts';

/**
 * What to throw when `import()` of a package has failed. The import stands in a `try`: then a bundler that does not find the package
 * warns and goes on, and only an app that uses the package fails, here.
 */
export function missingPackage(name: string, cause: unknown): unknown {
  const { code } = cause as { code?: unknown };
  if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') return cause;
  const message = `The package ${name} is not installed. Run npm install ${name}.`;
  return new LongshoreError('CONFIG', message, { cause });
}

/** When every address of a host refuses, the error has no text of its own, only those of its parts. */
export function messageOf(error: unknown): string {
  const { message, name } = toError(error);
  if (message !== '') return message;
  return error instanceof AggregateError ? error.errors.map(messageOf).join(', ') : name;
}
