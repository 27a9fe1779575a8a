import { LongshoreError } from './errors.ts';
import { toError } from './failure.ts';

/** It is installed and cannot be used: most often a bundler has taken it apart. Its users would fail one by one, and go on. */
export function unusable(name: string, cause: unknown): LongshoreError {
  if (cause instanceof LongshoreError) return cause;
  const message = `The package ${name} could not be loaded: ${toError(cause).message.replace(/\.$/, '')}. Is it in a bundle? docs/aws.md and docs/azure.md say how to build one.`;
  return new LongshoreError('CONFIG', message, { cause });
}

/**
 * For the catch of an `import()`, where only some apps use a package. A bundler takes an import with a catch for optional: one
 * that does not find the package warns and goes on, and only an app that uses it fails, with `CONFIG`.
 */
export const optional =
  (name: string) =>
  (cause: unknown): never => {
    const { code } = cause as { code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw unusable(name, cause);
    const message = `The package ${name} is not installed. Run npm install ${name}.`;
    throw new LongshoreError('CONFIG', message, { cause });
  };
