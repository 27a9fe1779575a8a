import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { sqliteStore } from '../../local/backends/sqlite/index.ts';
import { pair } from '../kit/stores.ts';
import { describeStoreAlone } from '../testing/laws/store.ts';
import type { StoreHarness } from '../testing/laws/store-alone.ts';
import { describeTexts } from '../testing/laws/texts.ts';

const harness: StoreHarness = {
  lacks: ['ends elsewhere'],
  async open(clock, options) {
    const folder = await mkdtemp(join(tmpdir(), 'longshore-'));
    const path = join(folder, 'state.db');
    return pair(
      () => sqliteStore({ path, clock, ...options }),
      () => rm(folder, { recursive: true }),
    );
  },
};

describeStoreAlone('sqliteStore()', harness, { describe, it });
describeTexts('sqliteStore()', harness, { describe, it });
