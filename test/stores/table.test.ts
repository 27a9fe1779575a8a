import { afterAll, beforeAll, describe, it } from 'vitest';
import { tableStore } from '../../functions/azure/table/index.ts';
import { describeStoreAlone } from '../contract/store.ts';
import type { StoreHarness } from '../contract/store-alone.ts';
import { type Azurite, startAzurite } from './azurite.ts';

let azurite: Azurite;
let tables = 0;

beforeAll(async () => {
  azurite = await startAzurite();
});
afterAll(() => azurite.close());

const harness: StoreHarness = {
  async open(clock, options) {
    const where = { table: `laws${++tables}`, connectionString: azurite.connectionString };
    const [stores, peer] = [
      tableStore({ ...where, clock, ...options }),
      tableStore({ ...where, clock, ...options }),
    ];
    await stores.migrate();
    return {
      stores,
      peer,
      async close() {
        await stores.close();
        await peer.close();
      },
    };
  },
};

describeStoreAlone('tableStore()', harness, { describe, it });
