/** Handlers in a thread or process of their own. */

import { config } from '../../base/errors.ts';
import { door } from '../../base/lazy.ts';
import type { Feature } from '../feature.ts';

type Host = typeof import('./host.ts');

const code = door(loadHost);
let isUsed = false;

export const sandbox = {
  isolate: (...attempt) =>
    code(({ runIn }) => {
      isUsed = true;
      return runIn(...attempt);
    }),
  /** Ends isolates that are idle or stopping. Busy ones go on. */
  async closing({ app }) {
    if (isUsed) await code(({ endIsolates }) => endIsolates(app));
  },
} satisfies Feature;

async function loadHost(): Promise<Host> {
  try {
    // Not a literal, so that bundlers leave the file out: a cloud function cannot use it.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    return (await import(new URL(`./host.${extension}`, import.meta.url).href)) as Host;
  } catch (cause) {
    throw config(
      `Isolated jobs need Longshore's own files on disk, which a bundled program does not have (${(cause as Error).message}). Run them on a worker that is not bundled, or leave isolate out.`,
    );
  }
}
