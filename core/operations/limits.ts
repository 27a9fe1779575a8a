/** Limits in the hands of an operator. */

import { isStorable } from '../base/json.ts';
import { type LimitFilter, type LimitPage, limitStoreOf, listLimits } from '../features/limits/views.ts';
import { wakeAll } from '../features/limits/wake.ts';
import { wrongOption } from '../kernel/enqueue/prepare.ts';
import { audited } from './audit.ts';
import type { OperatorHost } from './host.ts';

const longestKey = 500;
const mostAtOnce = 10_000;

export async function list({ client }: OperatorHost, filter: LimitFilter = {}): Promise<LimitPage> {
  const { prefix = '', after = '', max = 1 } = filter;
  for (const [name, text] of Object.entries({ prefix, after }))
    if (!isKey(text)) throw wrongOption(`${name} to be a text of at most ${longestKey} characters`);
  if (!Number.isSafeInteger(max) || max < 1 || max > mostAtOnce)
    throw wrongOption(`max to be an integer from 1 to ${mostAtOnce}, got ${max}`);
  return listLimits(client, filter);
}

/** Jobs that have a slot go on without it, and those that wait come at once. */
export async function reset(host: OperatorHost, key: string): Promise<boolean> {
  const limits = limitStoreOf(host.client);
  if (!isKey(key) || key === '')
    throw wrongOption(`the key of a limit to be a text of 1 to ${longestKey} characters`);
  return audited(host, 'limit.reset', key, async (record) => {
    const changed = await limits.reset(key);
    await wakeAll(host.client, key);
    if (changed) record(1);
    else record(0, 'Nothing was in use, and nothing was held.');
    return changed;
  });
}

const isKey = (text: unknown): text is string =>
  typeof text === 'string' && text.length <= longestKey && isStorable(text);
