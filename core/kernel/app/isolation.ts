/** Jobs that run in a thread or process of their own, as their definitions say it. */

import { config, shown } from '../../base/errors.ts';

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
export const leastMemoryMb = 32;

/** Checks what a definition says about isolation; `null` = the job runs in the worker's own event loop. */
export function isolationOf(
  name: string,
  definition: { readonly isolate?: unknown; readonly module?: unknown; readonly maxMemoryMb?: number },
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
  const url = module !== null && typeof module === 'object' && 'href' in module ? module.href : module;
  if (typeof url !== 'string' || !url.startsWith('file:') || !URL.canParse(url)) {
    throw config(
      `Expected module of job "${name}" to be the file: URL of the file that exports it, got ${shown(module)}. Use module: import.meta.url.`,
    );
  }
  return { kind, module: url, maxMemoryMb };
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

/** Called where a worker starts: a worker in an isolate would lease jobs and never renew or drain them. */
export function refuseInsideIsolate(what: string): void {
  if (!insideIsolate()) return;
  throw config(
    `Expected the module of an isolated job to start nothing when it is imported, but it called ${what}. Move that to a file of its own.`,
  );
}
