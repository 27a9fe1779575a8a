import { afterAll, beforeAll, describe, it } from 'vitest';
import { tableStore } from '../../functions/azure/table/index.ts';
import { type Azurite, startAzurite } from '../kit/servers/azurite.ts';
import { pair } from '../kit/stores.ts';
import { describeStoreAlone } from '../testing/laws/store.ts';
import type { StoreHarness } from '../testing/laws/store-alone.ts';

let azurite: Azurite;
let tables = 0;

beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.close());

const harness: StoreHarness = {
  async open(clock, options) {
    const where = { table: `laws${++tables}`, connectionString: azurite.connectionString };
    await tableStore({ ...where, clock, ...options }).migrate();
    return pair(() => tableStore({ ...where, clock, ...options }));
  },
};

describeStoreAlone('tableStore()', harness, { describe, it });
