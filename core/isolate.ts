/**
 * Jobs that run in a thread or process of their own. Here is only what every program loads; the rest is in sandbox/
 * and is imported when the first such job runs.
 */

import type { App } from './app.ts';
import { config, shown } from './errors.ts';
import type { HandlerContext, Job } from './job.ts';
import type { Output } from './output.ts';

/** Where a handler runs, as a job's definition says it. */
export type Placement =
  | { readonly isolate?: never; readonly module?: never; readonly maxMemoryMb?: never }
  | {
      /**
       * `process` can always be stopped and capped. `thread` starts faster and shares the worker's process; some
       * code cannot be stopped in it (docs/sandbox.md). @default the worker's own event loop
       */
      readonly isolate: 'thread' | 'process';
      /**
       * The file that exports this job, nearly always `import.meta.url`. It is imported in the thread or process, so
       * it must start nothing when it is imported.
       */
      readonly module: string | URL;
      /** Heap in MiB that the handler may use, 32 or more; more fails the attempt. @default Node's own limit */
      readonly maxMemoryMb?: number;
    };

export interface Isolation {
  readonly kind: 'thread' | 'process';
  /** A `file:` URL. */
  readonly module: string;
  readonly maxMemoryMb: number | null;
}

/** Node itself needs some 10 MiB. */
const leastMemoryMb = 32;

/** Checks what a definition says about isolation; `null` = the job runs in the worker's own event loop. */
export function isolationOf(
  name: string,
  definition: { readonly isolate?: unknown; readonly module?: unknown; readonly maxMemoryMb?: unknown },
): Isolation | null {
  const { isolate: kind, module, maxMemoryMb = null } = definition;
  if (kind === undefined) {
    if (module === undefined && maxMemoryMb === null) return null;
    const given = module === undefined ? 'maxMemoryMb' : 'module';
    throw config(
      `Job "${name}" has ${given} but no isolate. Add isolate: 'thread' or 'process', or leave ${given} out.`,
    );
  }
  if (kind !== 'thread' && kind !== 'process') {
    throw config(`Expected isolate of job "${name}" to be 'thread' or 'process', got ${shown(kind)}.`);
  }
  const url = module instanceof URL ? module.href : module;
  if (typeof url !== 'string' || !url.startsWith('file:') || !URL.canParse(url)) {
    throw config(
      `Expected module of job "${name}" to be the file: URL of the file that exports it, got ${shown(module)}. Use module: import.meta.url.`,
    );
  }
  if (maxMemoryMb !== null && !(Number.isSafeInteger(maxMemoryMb) && Number(maxMemoryMb) >= leastMemoryMb)) {
    throw config(
      `Expected maxMemoryMb of job "${name}" to be an integer of ${leastMemoryMb} or more, got ${shown(maxMemoryMb)}.`,
    );
  }
  return { kind, module: url, maxMemoryMb: maxMemoryMb as number | null };
}

/** On the global object, because an isolate may come to load a second copy of this package. */
const mark = Symbol.for('longshore.isolate');

export function markIsolate(): void {
  Object.defineProperty(globalThis, mark, { value: true });
}

/** Whether this code runs inside an isolate; there, isolated jobs run plainly. */
export function insideIsolate(): boolean {
  return mark in globalThis;
}

/** Called where a worker starts: in an isolate it would take jobs that nobody renews or drains. */
export function refuseInsideIsolate(what: string): void {
  if (!insideIsolate()) return;
  throw config(
    `Expected the module of an isolated job to start nothing when it is imported, but it called ${what}. Move that to a file of its own.`,
  );
}

type Host = typeof import('./sandbox/host.ts');
let loading: Promise<Host> | null = null;

/** Runs one attempt in an isolate. Rejects with what the handler threw, or with why its isolate ended. */
export async function runIsolated(
  app: App,
  job: Job,
  isolation: Isolation,
  input: unknown,
  ctx: HandlerContext,
): Promise<Output> {
  loading ??= loadHost();
  const host = await loading;
  return host.runIn(app, job, isolation, input, ctx);
}

/** Ends what is idle or has been told to stop; isolates at work are left alone. */
export async function endIsolates(app: App): Promise<void> {
  if (loading) await (await loading.catch(() => null))?.endIsolates(app);
}

async function loadHost(): Promise<Host> {
  try {
    // Not a literal, so that a bundler leaves it out: a cloud function must not carry what it cannot use.
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
    return (await import(new URL(`./sandbox/host.${extension}`, import.meta.url).href)) as Host;
  } catch (cause) {
    loading = null;
    throw config(
      `Isolated jobs need Longshore's own files beside it, which a bundled program does not have (${(cause as Error).message}). Run them on a worker that is not bundled, or leave isolate out.`,
    );
  }
}
