/** The example that newcomers start from keeps all laws. */

import { readdirSync, readFileSync } from 'node:fs';
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

it('the example in the docs is a part of the example backend', () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8').replaceAll(/^ +/gm, '');
  const [, code] = /\n## A backend of your own\n.*?```js\n(.*?)```/s.exec(read('../../docs/backends.md'))!;
  expect(code).toContain('table.lease(');
  expect(read('../testing/example-backend.ts')).toContain(code);
});

it('the example backend has at most 350 lines', () => {
  const folder = new URL('../testing/', import.meta.url);
  const parts = readdirSync(folder).filter((name) => name.startsWith('example-'));
  const lines = parts.map((name) => readFileSync(new URL(name, folder), 'utf8').trimEnd().split('\n').length);
  expect(parts).toContain('example-backend.ts');
  expect(lines.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(350);
});
