/** The example that newcomers start from keeps all laws. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { exampleBackend } from '../testing/example-backend.ts';
import { exampleStore } from '../testing/example-store.ts';
import { describeBackend } from '../testing/laws/backend.ts';
import type { Harness } from '../testing/laws/harness.ts';
import { describeStore, describeStoreAlone } from '../testing/laws/store.ts';
import type { StoreHarness } from '../testing/laws/store-alone.ts';
import { describeTexts } from '../testing/laws/texts.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';

const harness: Harness = {
  lacks: ['ends elsewhere'],
  async open(options) {
    const clock = createVirtualClock();
    const backend = exampleBackend({ clock, ...options });
    return { backend, now: clock.now, advance: clock.advance, close: backend.close };
  },
};

const store: StoreHarness = {
  lacks: ['ends elsewhere'],
  open: async (clock, options) => ({ stores: exampleStore({ clock, ...options }), close: async () => {} }),
};

describeBackend('exampleBackend()', harness, { describe, it });
describeStore('exampleBackend()', harness, { describe, it });
describeStoreAlone('exampleStore()', store, { describe, it });
describeTexts('exampleStore()', store, { describe, it });

it('the example backend is short enough to be read before lunch', () => {
  const parts = ['backend', 'jobs', 'admin', 'store'].map((part) => {
    const text = readFileSync(new URL(`../testing/example-${part}.ts`, import.meta.url), 'utf8');
    return text.split('\n').length;
  });
  expect(Math.max(...parts)).toBeLessThanOrEqual(250);
});
