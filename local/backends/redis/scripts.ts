/** The Lua scripts. Redis compiles each once and keeps it; a server that has forgotten one is given it again. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Script {
  readonly text: string;
  /** By which EVALSHA calls it. */
  readonly sha: string;
}

function load(...names: readonly string[]): Script {
  const text = names.map((name) => readFileSync(new URL(`${name}.lua`, import.meta.url), 'utf8')).join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

export const scripts = {
  enqueue: load('enqueue'),
  work: load('jobs', 'work'),
  manage: load('jobs', 'manage'),
  keys: load('keys'),
};
