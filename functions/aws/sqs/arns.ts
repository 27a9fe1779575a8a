/** Lambda names queues by their ARN. */

import type { QueueAddress, Queues } from './queues.ts';

/** The queue that an ARN names; `null` when it is none of ours. */
export function addressOfArn(queues: Queues, arn: string): QueueAddress | null {
  const [, , service, , account = '', name = ''] = arn.split(':');
  if (service !== 'sqs' || name === '') return null;
  const addresses = queues.all().flatMap((address) => queues.lanesOf(address.name));
  const found = addresses.find(({ url }) => isSame(endOf(url), account, name));
  if (found || queues.prefix === null) return found ?? null;
  const prefix = endOf(queues.prefix);
  const rest = name.startsWith(prefix.name) ? name.slice(prefix.name.length) : '';
  return rest !== '' && isSame(prefix, account, prefix.name) ? queues.of(rest) : null;
}

interface End {
  /** `null` where the URL has none, as with some emulators. */
  readonly account: string | null;
  readonly name: string;
}

function endOf(url: string): End {
  const parts = new URL(url).pathname.split('/');
  const account = parts.at(-2) ?? '';
  return { account: /^\d{12}$/.test(account) ? account : null, name: parts.at(-1) ?? '' };
}

const isSame = (end: End, account: string, name: string): boolean =>
  end.name === name && (end.account === null || end.account === account);
