/** The example that newcomers start from keeps the laws, with nothing but the eight verbs. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { exampleBackend } from '../testing/example-backend.ts';
import { describeBackend } from '../testing/laws/backend.ts';
import type { Harness } from '../testing/laws/harness.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';

const harness: Harness = {
  lacks: ['dead letters', 'administration', 'transfer', 'waiting jobs', 'groups'],
  async open() {
    const clock = createVirtualClock();
    const backend = exampleBackend({ clock });
    return { backend, now: clock.now, advance: clock.advance, close: backend.close };
  },
};

describeBackend('exampleBackend()', harness, { describe, it });

it('the example backend is short enough to be read before lunch', () => {
  const text = readFileSync(new URL('../testing/example-backend.ts', import.meta.url), 'utf8');
  expect(text.split('\n').length).toBeLessThanOrEqual(150);
});
