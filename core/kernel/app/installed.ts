/**
 * The parts that features add to an app; core/features/table.ts makes them. Their types are `unknown` here to avoid import cycles:
 * the module that reads a member knows its type.
 */
export interface Installed {
  /** Steps around attempts: `stepsOf` in kernel/attempt/attempt.ts. */
  readonly steps: unknown;
  /** Chores of workers: `choresOf` in kernel/worker/chores.ts. */
  readonly chores: unknown;
  /** Steps around sending jobs, and members of clients: `partsOf` in kernel/enqueue/parts.ts. */
  readonly client: unknown;
  /** Requirements on a backend: `Needs` in kernel/enqueue/abilities.ts. */
  readonly needs: unknown;
  /** Members of the context of handlers: `ContextDoors` in kernel/attempt/context.ts. */
  readonly context: unknown;
  /** Counts the attempts of a worker: `CountAttempts` in kernel/worker/state.ts. */
  readonly counter: unknown;
  /** Queues whose jobs could not begin now: `BoundQueues` in kernel/worker/state.ts. */
  readonly bounds: unknown;
}
