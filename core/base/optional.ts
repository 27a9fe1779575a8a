import { LongshoreError } from './errors.ts';
import { toError } from './failure.ts';

/**
 * The error for an installed package that cannot be loaded, most often because of a bundler. Without it every job that uses the package would
 * fail.
 */
export function unusable(name: string, cause: unknown): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const message = `The package ${name} could not be loaded: ${toError(cause).message.replace(/\.$/, '')}. Is it in a bundle? docs/aws.md and docs/azure.md describe how to build one.`;
  return new LongshoreError('CONFIG', message, { cause });
}

/**
 * For the `catch` of an `import()` of a package that only some apps use. A bundler treats an import with a catch as optional: if the package is
 * missing, it warns and continues. Then only an app that uses the package fails, with `CONFIG`.
 */
export const optional =
  (name: string) =>
  (cause: unknown): never => {
    const { code } = cause as { code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw unusable(name, cause);
    const message = `The package ${name} is not installed. Run npm install ${name}.`;
    throw new LongshoreError('CONFIG', message, { cause });
  };
