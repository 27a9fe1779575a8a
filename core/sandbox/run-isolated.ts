/** Runs jobs in a thread or process of their own. What does it is in sandbox/, and is imported when the first such job runs. */

import type { App } from '../app/app.ts';
import type { Output } from '../attempt/output.ts';
import { config } from '../base/errors.ts';

/** On the global object, because an isolate may come to load a second copy of this package. */
const mark = Symbol.for('longshore.isolate');

export function markIsolate(): void {
  Object.defineProperty(globalThis, mark, { value: true });
}

/** Whether this code runs inside an isolate; there, isolated jobs run plainly. */
export function insideIsolate(): boolean {
  return mark in globalThis;
}

/** Called where a worker starts: a worker in an isolate would lease jobs and never renew or drain them. */
export function refuseInsideIsolate(what: string): void {
  if (!insideIsolate()) return;
  throw config(
    `Expected the module of an isolated job to start nothing when it is imported, but it called ${what}. Move that to a file of its own.`,
  );
}

type Host = typeof import('./host.ts');
let loading: Promise<Host> | null = null;

/** Runs one attempt in an isolate. Rejects with what the handler threw, or with why its isolate ended. */
export async function runIsolated(...attempt: Parameters<Host['runIn']>): Promise<Output> {
  loading ??= loadHost();
  const host = await loading;
  return host.runIn(...attempt);
}

/** Ends isolates that are idle or stopping. Those at work are left alone. */
export async function endIsolates(app: App): Promise<void> {
  if (loading) await (await loading.catch(() => null))?.endIsolates(app);
}

async function loadHost(): Promise<Host> {
  try {
    // Not a literal, so that a bundler leaves it out: a cloud function must not carry what it cannot use.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    return (await import(new URL(`./host.${extension}`, import.meta.url).href)) as Host;
  } catch (cause) {
    loading = null;
    throw config(
      `Isolated jobs need Longshore's own files beside it, which a bundled program does not have (${(cause as Error).message}). Run them on a worker that is not bundled, or leave isolate out.`,
    );
  }
}
