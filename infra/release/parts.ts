/**
 * Three files hold what `longshore` loads. A bundler keeps or drops whole files, so they are three: a function loads the code that defines jobs
 * at its start, the code that runs them with its first event, and the polling worker never.
 */

import { join, relative } from 'node:path';

/** The modules, as a bundler knows them. */
export interface Graph {
  getModuleInfo(id: string): { readonly importedIds: readonly string[] } | null;
}

interface Parts {
  readonly define: ReadonlySet<string>;
  readonly run: ReadonlySet<string>;
  readonly worker: ReadonlySet<string>;
}

/** Tells which file holds a module; `null` = none of the three. */
export function partsIn(root: string): (id: string, graph: Graph) => string | null {
  let parts: Parts | null = null;
  return (id, graph) => {
    parts ??= partsOf(root, graph);
    if (parts.define.has(id)) return 'core/bundle';
    if (parts.run.has(id)) return 'core/bundle-run';
    return parts.worker.has(id) ? 'core/bundle-worker' : null;
  };
}

function partsOf(root: string, graph: Graph): Parts {
  const index = join(root, 'core/index.ts');
  const worker = join(root, 'core/routing/worker.ts');
  /** All that these load at once, except what is in `without`. */
  function reach(from: readonly string[], without: ReadonlySet<string>): ReadonlySet<string> {
    const found = new Set(from.filter((id) => !without.has(id)));
    for (const id of found) {
      for (const next of graph.getModuleInfo(id)?.importedIds ?? [])
        if (next.startsWith(root) && !without.has(next)) found.add(next);
    }
    return found;
  }
  const all = reach([index], new Set());
  const define = reach(
    [
      ...graph.getModuleInfo(index)!.importedIds,
      // A function with several backends uses it, and must not load the polling worker with it.
      join(root, 'core/routing/other-backends.ts'),
      // The stores and queues of clouds use them too: otherwise a bundler would keep the worker's file for them.
      ...[...all].filter((id) => /^core\/(base|contract|envelope|kit)\//.test(relative(root, id))),
    ],
    new Set([worker]),
  );
  const run = reach(
    [
      'kernel/flow.ts',
      'kernel/attempt/run.ts',
      'kernel/worker/watch-runs.ts',
      'kernel/worker/renew-leases.ts',
      'features/metrics/collector.ts',
      'kernel/worker/chores.ts', // a function of schedules uses them, and must not load the polling worker
    ].map((path) => join(root, 'core', path)),
    define,
  );
  return { define, run, worker: new Set([...all].filter((id) => id !== index)) };
}
