import { beforeAll, describe, it } from 'vitest';
import { tableStore } from '../../functions/azure/table/index.ts';
import { shared } from '../kit/shared/shared.ts';
import { pair } from '../kit/stores.ts';
import { describeStoreAlone } from '../testing/laws/store.ts';
import type { StoreHarness } from '../testing/laws/store-alone.ts';
import { describeTexts } from '../testing/laws/texts.ts';

let connectionString: string;
let tables = 0;

beforeAll(async () => {
  ({ connectionString } = await shared('azurite'));
});

const harness: StoreHarness = {
  lacks: ['ends'],
  async open(clock, options) {
    const where = { table: `laws${++tables}`, connectionString };
    await tableStore({ ...where, clock, ...options }).migrate();
    return pair(() => tableStore({ ...where, clock, ...options }));
  },
};

describeStoreAlone('tableStore()', harness, { describe, it });
describeTexts('tableStore()', harness, { describe, it });
