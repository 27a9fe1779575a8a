import { memory } from '../../local/backends/memory/index.ts';
import type { Harness } from '../testing/laws/harness.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';

export const memoryHarness: Harness = {
  async open(options) {
    const clock = createVirtualClock();
    const backend = memory({ clock, ...options });
    return { backend, now: clock.now, advance: clock.advance, close: backend.close };
  },
};
