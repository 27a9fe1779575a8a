/** The Lua scripts. Redis compiles each once and keeps it; a server that has forgotten one is given it again. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Script {
  readonly text: string;
  /** By which EVALSHA calls it. */
  readonly sha: string;
}

function load(...files: readonly URL[]): Script {
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

// Written out, so that bundlers see which files to take along.
const jobs = new URL('./jobs.lua', import.meta.url);

export const scripts = {
  enqueue: load(new URL('./enqueue.lua', import.meta.url)),
  work: load(jobs, new URL('./work.lua', import.meta.url)),
  manage: load(jobs, new URL('./manage.lua', import.meta.url)),
  move: load(jobs, new URL('./move.lua', import.meta.url)),
  keys: load(new URL('./keys.lua', import.meta.url)),
};
