/** Runs jobs in a thread or process of their own. The code for it is imported when the first such job runs. */

import { config } from '../../base/errors.ts';
import type { App } from '../../kernel/app/app.ts';
import type { Output } from '../../kernel/attempt/output.ts';

type Host = typeof import('./host.ts');
let loading: Promise<Host> | null = null;

/** Runs one attempt in an isolate. Rejects with the handler's error, or with the reason why its isolate ended. */
export async function runIsolated(...attempt: Parameters<Host['runIn']>): Promise<Output> {
  loading ??= loadHost();
  const host = await loading;
  return host.runIn(...attempt);
}

/** Ends isolates that are idle or stopping. Busy ones go on. */
export async function endIsolates(app: App): Promise<void> {
  if (loading) await (await loading.catch(() => null))?.endIsolates(app);
}

async function loadHost(): Promise<Host> {
  try {
    // Not a literal, so that bundlers leave the file out: a cloud function cannot use it.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    return (await import(new URL(`./host.${extension}`, import.meta.url).href)) as Host;
  } catch (cause) {
    loading = null;
    throw config(
      `Isolated jobs need Longshore's own files on disk, which a bundled program does not have (${(cause as Error).message}). Run them on a worker that is not bundled, or leave isolate out.`,
    );
  }
}
