import { LongshoreError } from './errors.ts';

/**
 * For the catch of an `import()`, where only some apps use a package. A bundler takes an import with a catch for optional: one
 * that does not find the package warns and goes on, and only an app that uses it fails, with `CONFIG`.
 */
export const optional =
  (name: string) =>
  (cause: unknown): never => {
    const { code } = cause as { code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw cause;
    const message = `The package ${name} is not installed. Run npm install ${name}.`;
    throw new LongshoreError('CONFIG', message, { cause });
  };
