/** What a call asks for: its rule and its key, bound to its message. */

import { LongshoreError } from '../../base/errors.ts';
import { toError } from '../../base/failure.ts';
import { faultOf } from '../../base/text.ts';
import type { OutgoingMessage } from '../../contract/queue.ts';
import { currentContext } from '../../kernel/app/context.ts';
import type { KeyOf } from '../../kernel/app/flow-control.ts';
import type { Job } from '../../kernel/app/job.ts';
import type { EnqueueOptions } from '../../kernel/app/options.ts';
import { type UniqueRule, uniqueRuleOf } from '../../kernel/app/unique.ts';
import type { Draft, Make, MaybeUnique } from '../../kernel/enqueue/draft.ts';

/** Throws `OPTION` for what the call says, `PAYLOAD` for a key that the job makes of its payload. */
export async function askUnique(
  { job, options, uploads }: Draft,
  value: unknown,
  make: Make,
): Promise<MaybeUnique> {
  const ofCall = ruleOfCall(options);
  const rule: UniqueRule<unknown> = ofCall ?? job.unique!;
  const key = ofCall ? ofCall.key : keyOfJob(job, value, options);
  if (key === null) return make({}, uploads);
  const fault = faultOf(key);
  if (fault !== null)
    throw new LongshoreError(
      ofCall ? 'OPTION' : 'PAYLOAD',
      `Expected a unique key for job "${job.name}" ${fault}.`,
    );
  const { waitMs } = rule;
  if (waitMs !== undefined && (options.delayMs ?? options.runAt) !== undefined)
    throw new LongshoreError(
      'OPTION',
      `Expected neither delayMs nor runAt for job "${job.name}": its debounce says when it runs.`,
    );
  const message = await make(waitMs === undefined ? {} : { delayMs: waitMs }, uploads);
  return { ...message, unique: { key: storeKey(message, key as string), rule, make } };
}

function ruleOfCall(options: EnqueueOptions): UniqueRule<string> | null {
  try {
    return uniqueRuleOf('enqueue()', 'string', options);
  } catch (error) {
    throw new LongshoreError('OPTION', toError(error).message);
  }
}

function keyOfJob({ name, unique }: Job, value: unknown, options: EnqueueOptions): unknown {
  const keyOf = unique!.key as KeyOf<unknown>;
  try {
    return keyOf(value, options.context ?? currentContext() ?? {}) ?? null;
  } catch (cause) {
    const message = `The unique key() of job "${name}" threw: ${toError(cause).message}`;
    throw new LongshoreError('PAYLOAD', message, { cause });
  }
}

/** Names of queues and jobs have no colon, and a tenant's keys are its own. */
function storeKey({ queue, job, tenantId }: OutgoingMessage, key: string): string {
  const own = `unique:${queue}:${job}:${key}`;
  return tenantId === null ? own : `tenant:${tenantId.length}:${tenantId}:${own}`;
}
