/**
 * What the features of this package add to an app: core/features/table.ts makes it. Each room above reads its own member and knows its type,
 * which this room cannot name without importing what imports it.
 */
export interface Installed {
  /** Steps around attempts: `stepsOf` in kernel/attempt/attempt.ts. */
  readonly steps: unknown;
  /** What workers do beside jobs: `choresOf` in kernel/worker/chores.ts. */
  readonly chores: unknown;
  /** What is done around the sending of jobs, and members of clients: `partsOf` in kernel/enqueue/parts.ts. */
  readonly client: unknown;
  /** What features need of a backend: `Needs` in kernel/enqueue/abilities.ts. */
  readonly needs: unknown;
  /** Members of the context of handlers: `ContextDoors` in kernel/attempt/context.ts. */
  readonly context: unknown;
  /** Counts the attempts of a worker: `CountAttempts` in kernel/worker/state.ts. */
  readonly counter: unknown;
}
