import { describe, it } from 'vitest';
import { memoryStore } from '../../local/backends/memory/index.ts';
import { describeStoreAlone } from '../contract/store.ts';
import type { StoreHarness } from '../contract/store-alone.ts';

const harness: StoreHarness = {
  async open(clock, options) {
    return { stores: memoryStore({ clock, ...options }), close: async () => {} };
  },
};

describeStoreAlone('memoryStore()', harness, { describe, it });
