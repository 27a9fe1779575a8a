/** A function app whose Service Bus is one of several backends. */

import { expect, it } from 'vitest';
import { memory } from '../../../local/backends/memory/index.ts';
import { functionAppsHere } from './kit.ts';

const open = functionAppsHere();

it('runs the jobs of its own backend, and enqueues on the others', async () => {
  const fast = memory();
  const kit = await open({
    backendName: 'default',
    otherBackends: { fast },
    queueOptions: { bulk: { backend: 'fast' } },
  });
  kit.behaviour.set('both', async ({ enqueue }) => {
    await enqueue(kit.job, { name: 'here' });
    await enqueue(kit.job, { name: 'there' }, { backend: 'fast', queue: 'bulk' });
  });
  await kit.enqueue('both');
  await kit.trigger.poll('mail');
  await kit.trigger.poll('mail');
  expect(kit.ran).toEqual(['both', 'here']);
  const [lease] = await fast.fetch({ queues: ['bulk'], max: 9, leaseMs: 1_000, waitMs: 0 });
  expect(JSON.parse(lease!.body)).toMatchObject({ payload: { name: 'there' } });
});
