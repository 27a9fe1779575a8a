import { expect, it } from 'vitest';
import { endingAt, untilEnded } from '../../../local/simulate/end.ts';

it('a simulation that was stopped waits no longer than its host for an app that does not end', async () => {
  const never = new Promise<void>(() => {});
  const reason = untilEnded(endingAt(AbortSignal.abort()), {
    play: () => undefined,
    exitWhenIdle: false,
    drainMs: 20,
    idle: () => true,
    running: () => 1,
    parts: [],
    terminate: () => never,
    on() {},
  });
  expect(await reason).toBe('signal');
});
