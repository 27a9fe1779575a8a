/** The Service Bus trigger of the local host, closer than the laws look. */

import { expect, it } from 'vitest';
import type { FunctionsHost, TypedData } from '../../../local/simulate/functions/host.ts';
import { createServiceBusTrigger } from '../../../local/simulate/functions/service-bus-trigger.ts';
import { eachWithServiceBus, minute } from './bus-kit.ts';

const bus = eachWithServiceBus();

it('settles calls that end at the same moment as each has ended', async () => {
  const host = {
    functions: [{ name: 'mails', bindings: { message: { type: 'serviceBusTrigger', queueName: 'mail' } } }],
    async invoke(_: string, { string }: TypedData) {
      if (string === 'throws') throw new Error('no');
    },
  } as unknown as FunctionsHost;
  const { clock, server } = bus;
  const { connectionString } = server;
  const trigger = createServiceBusTrigger({ host, connectionString, clock, functionTimeoutMs: minute });
  for (const body of ['returns', 'throws']) server.write('mail', body);
  const calls = await trigger.poll('mail');
  expect(calls.map(({ end }) => end).sort()).toEqual(['abandoned', 'completed']);
  expect(server.bodies('mail')).toEqual(['throws']);
  await trigger.close();
});
