/** Options of queues, and the rules that they become. */

import { checkOptions, checkQueue, type OptionKinds } from '../../base/checks.ts';
import { config, shown } from '../../base/errors.ts';
import type { GroupOrder } from '../../contract/queue.ts';
import { type Limit, type Limits, limitsOf } from './flow-control.ts';

/** Its keys are functions of the payload, as the schema of its job returned it. */
export interface QueueOptions extends Limits {
  /**
   * While this number of jobs wait, ready or delayed, further ones are refused with `QUEUE_FULL`. Jobs of other processes are counted within a
   * second. @default any number
   */
  readonly maxLength?: number;
  /**
   * The jobs of a group run one at a time and in the order in which they were enqueued. `'group'` is short for `{ by: 'group' }`.
   * @default groups take turns, in no order
   */
  readonly order?: 'group' | GroupOrdering;
  /** The backend of its jobs that name none themselves, where the app has several. @default 'default' */
  readonly backend?: string;
  /**
   * Several whose workers take from the queue, so that a call may name one of them: `enqueue(job, payload, { backend })`. Without that the first
   * one gets the job. Instead of `backend`.
   */
  readonly backends?: readonly string[];
}

export interface GroupOrdering {
  readonly by: 'group';
  /** Whether the other jobs of a group wait for the retry of a failed job, or go ahead. @default 'wait' */
  readonly onRetry?: GroupOrder;
}

/** The options of a queue as workers and senders apply them. */
export interface QueueRules {
  readonly limits: readonly Limit[] | null;
  readonly maxLength: number | null;
  /** The order of its groups; `null` = none. */
  readonly order: GroupOrder | null;
  /** The first of `backends`; `null` = none is named. */
  readonly backend: string | null;
  /** All whose workers take from it, beside those that its jobs name. */
  readonly backends: readonly string[];
}

const kinds = {
  concurrency: '',
  rate: '',
  maxLength: 1,
  order: '',
  backend: '',
  backends: '',
} satisfies OptionKinds<QueueOptions>;

/** Throws `CONFIG`. */
export function queueRulesOf(
  queues: Readonly<Record<string, QueueOptions>> = {},
): ReadonlyMap<string, QueueRules> {
  const rules = new Map<string, QueueRules>();
  for (const [queue, options] of Object.entries(queues)) {
    checkQueue(queue);
    if (typeof options !== 'object' || options === null)
      throw config(`Expected options of queue "${queue}", got ${shown(options)}.`);
    checkOptions(`queue "${queue}"`, options, kinds);
    const { maxLength = null } = options;
    const backends = backendsOf(queue, options);
    const limits = limitsOf(`queue:${queue}`, options);
    rules.set(queue, {
      limits,
      maxLength,
      order: orderOf(queue, options.order),
      backend: backends[0] ?? null,
      backends,
    });
  }
  return rules;
}

function backendsOf(queue: string, { backend, backends }: QueueOptions): readonly string[] {
  if (backends === undefined) return backend === undefined ? [] : [backend];
  if (backend !== undefined)
    throw config(
      `Expected backend or backends of queue "${queue}", got both. Name the usual one first in backends.`,
    );
  const areNames =
    Array.isArray(backends) && backends.length > 0 && backends.every((one) => typeof one === 'string');
  if (areNames) return [...new Set(backends)];
  throw config(`Expected backends of queue "${queue}" to be a list of names, got ${shown(backends)}.`);
}

function orderOf(queue: string, order: QueueOptions['order']): GroupOrder | null {
  if (order === undefined) return null;
  const { by, onRetry = 'wait' } = order === 'group' ? { by: order } : (order ?? {});
  if (by === 'group' && (onRetry === 'wait' || onRetry === 'step-aside')) return onRetry;
  throw config(
    `Expected order of queue "${queue}" to be 'group' or { by: 'group', onRetry: 'wait' or 'step-aside' }, got ${shown(order)}.`,
  );
}
