/** Which variables of the environment the app's own files read. */

import type { Settings } from './options.ts';

/** Set by a platform, by a shell, or for development. */
const known =
  /^(AWS_|AZURE_|FUNCTIONS_|WEBSITE_|LONGSHORE_|npm_|SQS_ENDPOINT$|(NODE_ENV|NODE_OPTIONS|CI|PATH|HOME|TMPDIR|TZ|PORT|DEBUG)$)/;

/** Each as a secret: a value that is none is no worse off in one. @param others variables that the template sets itself */
export function settingsIn(texts: readonly string[], others: readonly string[]): Settings {
  const names = texts.flatMap((text) => [
    ...[...text.matchAll(/\bprocess\.env\.([A-Z]\w*)/g)].map(([, name]) => name!),
    ...[...text.matchAll(/\bprocess\.env\[['"]([A-Z]\w*)['"]\]/g)].map(([, name]) => name!),
    ...[...text.matchAll(/\{([^{}]*)\}\s*=\s*process\.env\b/g)].flatMap(([, members]) =>
      variablesIn(members!),
    ),
  ]);
  const own = [...new Set(names)].filter((name) => !known.test(name) && !others.includes(name)).sort();
  return Object.fromEntries(own.map((name) => [name, 'secret']));
}

/** From `QUEUE_URL = '', TABLE: table`. */
const variablesIn = (members: string): string[] =>
  members.split(',').flatMap((member) => /^\s*([A-Z]\w*)/.exec(member)?.[1] ?? []);

export const readsIn = (texts: readonly string[], name: string): boolean =>
  texts.some((text) => new RegExp(`\\b${name}\\b`).test(text));
