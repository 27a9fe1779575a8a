import { describe, it } from 'vitest';
import { memory } from '../../local/backends/memory/index.ts';
import { describeBackend } from '../contract/backend.ts';
import type { Harness } from '../contract/harness.ts';
import { describeModel } from '../contract/model.ts';
import { describeStore } from '../contract/store.ts';
import { createVirtualClock } from '../virtual-clock.ts';

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
