import { describe, it } from 'vitest';
import { memory } from '../../local/backends/memory/index.ts';
import { describeBackend } from '../testing/laws/backend.ts';
import type { Harness } from '../testing/laws/harness.ts';
import { describeModel } from '../testing/laws/model.ts';
import { describeStore } from '../testing/laws/store.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';

const harness: Harness = {
  async open(options) {
    const clock = createVirtualClock();
    const backend = memory({ clock, ...options });
    return { backend, now: clock.now, advance: clock.advance, close: backend.close };
  },
};

describeBackend('memory()', harness, { describe, it });
describeStore('memory()', harness, { describe, it });
describeModel('memory()', harness, { describe, it: (name, body) => it(name, body, 600_000) });
