/** The example that newcomers start from keeps the laws, with the eight verbs and three tables. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { exampleBackend, exampleStore } from '../testing/example-backend.ts';
import { describeBackend } from '../testing/laws/backend.ts';
import type { Harness } from '../testing/laws/harness.ts';
import { describeStoreAlone } from '../testing/laws/store.ts';
import type { StoreHarness } from '../testing/laws/store-alone.ts';
import { describeTexts } from '../testing/laws/texts.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';

const harness: Harness = {
  lacks: ['dead letters', 'administration', 'transfer', 'waiting jobs', 'groups'],
  async open() {
    const clock = createVirtualClock();
    const backend = exampleBackend({ clock });
    return { backend, now: clock.now, advance: clock.advance, close: backend.close };
  },
};

const store: StoreHarness = {
  lacks: ['ends'],
  open: async (clock, options) => ({ stores: exampleStore({ clock, ...options }), close: async () => {} }),
};

describeBackend('exampleBackend()', harness, { describe, it });
describeStoreAlone('exampleStore()', store, { describe, it });
describeTexts('exampleStore()', store, { describe, it });

it('the example backend is short enough to be read before lunch', () => {
  const text = readFileSync(new URL('../testing/example-backend.ts', import.meta.url), 'utf8');
  expect(text.split('\n').length).toBeLessThanOrEqual(350);
});
