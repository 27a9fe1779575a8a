import { readFileSync } from 'node:fs';

/** The version of this package. package.json is two folders above, in the repository and in the build. */
export function version(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
