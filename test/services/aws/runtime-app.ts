/** Every way a job can end. */

import { createApp, defineJob, fixed, keyRing, PermanentError } from '../../../core/index.ts';
import type { StandardSchema } from '../../../core/kernel/app/schema.ts';

interface Payload {
  readonly how: 'end' | 'throw' | 'permanent' | 'block' | 'wait' | 'exit';
}

const payload: StandardSchema<Payload, Payload> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Payload }) },
};

const ends = defineJob({
  name: 'ends',
  queue: 'mail',
  payload,
  maxRetries: 2,
  retry: fixed(1_000),
  async handle({ how }, { signal, log, attempt, previouslyCrashed }) {
    log(`${how} ${attempt}`, { previouslyCrashed });
    if (how === 'throw') throw new Error('not now');
    if (how === 'permanent') throw new PermanentError('never');
    if (how === 'exit') process.exit(3);
    if (how === 'block' && attempt === 1) for (;;);
    if (how === 'wait') {
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }
    return { how };
  },
});

export const app = createApp({
  jobs: [ends],
  signing: keyRing([{ kid: 'k', secret: new Uint8Array(32).fill(1) }]),
});
