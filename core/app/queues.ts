/** What an app says of its queues. */

import { checkOptions, checkQueue, type OptionKinds } from '../base/checks.ts';
import { config, shown } from '../base/errors.ts';
import { type Limit, type Limits, limitsOf } from './flow-control.ts';

/** Its keys are functions of the payload, as the schema of its job returned it. */
export interface QueueOptions extends Limits {
  /**
   * While so many jobs wait, ready or delayed, further ones are refused with `QUEUE_FULL`. What other processes send is known within a
   * second. @default any number
   */
  readonly maxLength?: number;
}

/** What workers and senders keep to. */
export interface QueueRules {
  readonly limits: readonly Limit[] | null;
  readonly maxLength: number | null;
}

const kinds = { concurrency: '', rate: '', maxLength: 1 } satisfies OptionKinds<QueueOptions>;

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
    rules.set(queue, { limits: limitsOf(`queue:${queue}`, options), maxLength });
  }
  return rules;
}
