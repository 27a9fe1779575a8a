import { expect, it } from 'vitest';
import { simulated } from '../../../local/simulate/frame.ts';

it('a simulation that was stopped waits no longer than its host for an app that does not end', async () => {
  const never = new Promise<void>(() => {});
  const options = { name: 'test', exitWhenIdle: false, on() {} };
  const summary = simulated(options, {}, AbortSignal.abort(), async () => ({
    drainMs: 20,
    idle: () => true,
    running: () => 1,
    parts: [],
    terminate: () => never,
    queues: () => ({}),
  }));
  expect((await summary).reason).toBe('signal');
});
