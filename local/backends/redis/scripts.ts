/** The Lua scripts. Redis compiles a script once and keeps it; a server that has lost one is sent the text again. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Script {
  readonly text: string;
  /** For EVALSHA. */
  readonly sha: string;
}

/** @param parts files, or their texts: a release has those in place of the URLs, so that a bundle needs no files */
function load(...parts: readonly (URL | string)[]): Script {
  const text = parts.map((part) => (typeof part === 'string' ? part : readFileSync(part, 'utf8'))).join('\n');
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

// Each URL is written out, so that infra/release/stage.ts finds it.
const jobs = [new URL('./groups.lua', import.meta.url), new URL('./jobs.lua', import.meta.url)];

export const scripts = {
  enqueue: load(new URL('./enqueue.lua', import.meta.url)),
  grouped: load(...jobs, new URL('./grouped.lua', import.meta.url)),
  lease: load(...jobs, new URL('./lease.lua', import.meta.url)),
  manage: load(...jobs, new URL('./manage.lua', import.meta.url), new URL('./look.lua', import.meta.url)),
  transfer: load(...jobs, new URL('./transfer.lua', import.meta.url)),
  keys: load(new URL('./keys.lua', import.meta.url)),
  limits: load(new URL('./limits.lua', import.meta.url)),
  texts: load(new URL('./texts.lua', import.meta.url)),
  batches: load(new URL('./batches.lua', import.meta.url)),
};
