/** Laws that cannot fail prove nothing: here they meet a queue that breaks some of them, and must say which. */

import { AssertionError } from 'node:assert/strict';
import { describe, expect, it } from 'vitest';
import { describeBackend } from '../testing/laws/backend.ts';
import type { Harness } from '../testing/laws/harness.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';
import { unfenced } from './unfenced.ts';

const harness: Harness = {
  async open() {
    const clock = createVirtualClock();
    const backend = unfenced({ clock });
    return { backend, now: clock.now, advance: clock.advance, close: backend.close };
  },
};

interface RecordedLaw {
  readonly name: string;
  readonly check: () => Promise<void>;
}

function recordLaws(): RecordedLaw[] {
  const laws: RecordedLaw[] = [];
  describeBackend('unfenced()', harness, {
    describe: (_, body) => body(),
    it: (name, check) => laws.push({ name, check }),
  });
  return laws;
}

const lawsAboutOwnership = [
  'a worker that has lost its lease opens no breaker, and closes none',
  'a released one, and one whose worker died, are next again',
  'in random sequences with workers that die, no group is stuck and none runs out of order',
  'a lease that expired settles nothing by ack, even before it is reaped',
  'a lease that expired settles nothing by nack, even before it is reaped',
  'a lease that expired settles nothing by abandon, even before it is reaped',
  'a lease that expired settles nothing by renew, even before it is reaped',
  'a lease that expired and was reaped settles nothing by ack once another worker owns the message',
  'a lease that expired and was reaped settles nothing by nack once another worker owns the message',
  'a lease that expired and was reaped settles nothing by abandon once another worker owns the message',
  'a lease that expired and was reaped settles nothing by renew once another worker owns the message',
  'a lease that was released settles nothing by ack once another worker owns the message',
  'a lease that was released settles nothing by nack once another worker owns the message',
  'a lease that was released settles nothing by abandon once another worker owns the message',
  'a lease that was released settles nothing by renew once another worker owns the message',
  'a stale renewal does not lengthen the lease of the new owner',
  'a stale lease in a batch of acks does not stop its neighbours',
  'a stale lease in a batch of renewals does not stop its neighbours',
];

describe('a queue that settles by message instead of by lease', () => {
  it('breaks exactly the laws about ownership', async () => {
    const broken: string[] = [];
    for (const { name, check } of recordLaws()) {
      const failure: unknown = await check().then(
        () => null,
        (error) => error,
      );
      if (failure === null) continue;
      expect(failure, name).toBeInstanceOf(AssertionError);
      broken.push(name);
    }
    expect(broken.toSorted()).toEqual(lawsAboutOwnership.toSorted());
  });

  it('meets each law under a name of its own', () => {
    const names = recordLaws().map(({ name }) => name);
    expect(names.length).toBeGreaterThan(60);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });
});
