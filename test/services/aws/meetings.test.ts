import { afterAll, describe, it, vi } from 'vitest';
import type { Clock } from '../../../core/base/clock.ts';
import { sqs } from '../../../functions/aws/sqs/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { fewMeetings } from '../../laws/meeting-sample.ts';
import { describeMeetings } from '../../testing/meetings/index.ts';
import { openEndpoint, timeIsOurs } from './endpoint.ts';

const endpoint = await openEndpoint();
afterAll(async () => {
  vi.useRealTimers();
  await endpoint.stop();
});
let worlds = 0;
let time: Clock | null = null;

/** fauxqs reads `Date.now()` of this process, and shows nobody what is in its queues. */
async function echo(): Promise<void> {
  if (time) vi.setSystemTime(time.now());
}

describe.runIf(timeIsOurs)('on a server whose time is ours', () => {
  describeMeetings(
    'sqs() with a store',
    {
      latencyMs: 8,
      echo,
      mayRefuse: true,
      takesTwice: true,
      asksAgainMs: 60_000,
      async open(clock) {
        time = clock;
        vi.useFakeTimers({ toFake: ['Date'] });
        vi.setSystemTime(clock.now());
        const name = `world-${process.pid}-${++worlds}`;
        const urls = {
          queues: { work: await endpoint.createQueue(name) },
          deadLetterUrls: { work: await endpoint.createQueue(`${name}-dlq`) },
        };
        const stores = memoryStore({ clock });
        const options = { ...urls, client: endpoint.client, longPollMs: 1_000, clock };
        const openings = [1, 2].map(() => ({ ...sqs(options), stores }));
        return {
          openings,
          async close() {
            time = null;
            for (const opening of openings) await opening.close();
            for (const { work } of Object.values(urls)) await endpoint.deleteQueue(work);
            vi.useRealTimers();
          },
        };
      },
    },
    { describe, it: (name, body) => it(name, body, 300_000) },
    fewMeetings(),
  );
});
