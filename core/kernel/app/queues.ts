/** Options of queues, and the rules made from them. */

import { checkOptions, checkQueue, type OptionKinds } from '../../base/checks.ts';
import { config, shown } from '../../base/errors.ts';
import type { GroupOrder } from '../../contract/queue.ts';
import { type Limit, type Limits, limitsOf } from './flow-control.ts';

/** Options of one queue. The `key` functions of its limits get the payload as the job's schema returned it. */
export interface QueueOptions extends Limits {
  /**
   * While this number of jobs wait, ready or delayed, further jobs are refused with `QUEUE_FULL`. The count is up to a second old for jobs of
   * other processes. @default no limit
   */
  readonly maxLength?: number;
  /**
   * The jobs of a group run one at a time, in the order in which they were enqueued. `'group'` is short for `{ by: 'group' }`.
   * @default the jobs of a group run in no fixed order
   */
  readonly order?: 'group' | GroupOrdering;
  /** If the app has several backends: the backend of this queue's jobs that name none themselves. @default 'default' */
  readonly backend?: string;
  /**
   * Instead of `backend`: several backends whose workers take from this queue. A call may name one: `enqueue(job, payload, { backend })`.
   * If it names none, the first backend gets the job.
   */
  readonly backends?: readonly string[];
}

export interface GroupOrdering {
  readonly by: 'group';
  /** `wait`: the group waits for the retry of a failed job. `step-aside`: the other jobs of the group go ahead. @default 'wait' */
  readonly onRetry?: GroupOrder;
}

/** The options of a queue as workers and senders apply them. */
export interface QueueRules {
  readonly limits: readonly Limit[] | null;
  readonly maxLength: number | null;
  /** The order of the jobs in a group; `null` = none. */
  readonly order: GroupOrder | null;
  /** The first of `backends`; `null` = no backend is named. */
  readonly backend: string | null;
  /** The backends whose workers take from the queue, in addition to the backends that its jobs name. */
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
      `Expected backend or backends of queue "${queue}", got both. Leave backend out, and put it first in backends.`,
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
