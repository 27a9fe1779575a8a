import { describe, it } from 'vitest';
import { memoryStore } from '../../local/backends/memory/index.ts';
import { describeStoreAlone } from '../testing/laws/store.ts';
import type { StoreHarness } from '../testing/laws/store-alone.ts';
import { describeTexts } from '../testing/laws/texts.ts';

const harness: StoreHarness = {
  lacks: ['ends elsewhere'],
  async open(clock, options) {
    return { stores: memoryStore({ clock, ...options }), close: async () => {} };
  },
};

describeStoreAlone('memoryStore()', harness, { describe, it });
describeTexts('memoryStore()', harness, { describe, it });
