/** Chains in the hands of an operator. */

import { LongshoreError } from '../base/errors.ts';
import { audited } from './audited.ts';
import type { OperatorHost } from './host.ts';

/** Throws `NOT_FOUND`. `cancelling`: a link runs, and its worker is told to abort it. */
export async function cancelChain(
  host: OperatorHost,
  id: string,
): Promise<'cancelled' | 'cancelling' | 'finished'> {
  const { chains } = host.client;
  if (!(await chains.get(id))) throw noChain(id);
  return audited(host, 'chain.cancel', id, async (tell) => {
    const result = await chains.cancel(id);
    if (result === 'unknown') throw noChain(id);
    if (result === 'finished') tell(0, 'It had ended.');
    else tell(1);
    return result;
  });
}

const noChain = (id: string): LongshoreError =>
  new LongshoreError('NOT_FOUND', `There is no chain ${JSON.stringify(id.slice(0, 72))} here.`);
