/** Where a job runs: in the worker's event loop, or in a thread or process of its own. */

import { config, shown } from '../../base/errors.ts';

/** The options of a job definition that say where its handler runs. */
export type Placement =
  | { readonly isolate?: never; readonly module?: never; readonly maxMemoryMb?: never }
  | {
      /**
       * `process`: can always be stopped, and its memory capped. `thread`: starts faster and shares the worker's process, but some
       * code in it cannot be stopped (docs/sandbox.md). @default the worker's own event loop
       */
      readonly isolate: 'thread' | 'process';
      /**
       * The file that exports this job, nearly always `import.meta.url`. The thread or process imports it, so importing it must not
       * start anything, such as a worker.
       */
      readonly module: string | URL;
      /** The most heap that the handler may use, in MiB: 32 or more. The attempt fails if it uses more. @default Node's own limit */
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

/** `null` = the job runs in the worker's own event loop. Throws `CONFIG`. */
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

/** Set on the global object, because an isolate may load a second copy of this package. */
const mark = Symbol.for('longshore.isolate');

export function markIsolate(): void {
  Object.defineProperty(globalThis, mark, { value: true });
}

/** Whether this code runs in an isolate. There, isolated jobs run without a further isolate. */
export function insideIsolate(): boolean {
  return mark in globalThis;
}

/** Called before a worker starts. In an isolate it throws, because that worker would lease jobs and never renew or drain them. */
export function refuseInsideIsolate(what: string): void {
  if (!insideIsolate()) return;
  throw config(
    `Expected the module of an isolated job to start nothing when it is imported, but it called ${what}. Move that to a file of its own.`,
  );
}
