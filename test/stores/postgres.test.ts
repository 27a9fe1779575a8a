import { afterAll, describe, it } from 'vitest';
import { postgresStore } from '../../local/backends/postgres/index.ts';
import { describeStoreAlone } from '../contract/store.ts';
import type { StoreHarness } from '../contract/store-alone.ts';
import { createSchemas } from '../postgres/schemas.ts';

const schemas = await createSchemas();
const { url } = schemas;

afterAll(() => schemas.drop());

const harness: StoreHarness = {
  async open(clock, options) {
    const schema = await schemas.take();
    const [stores, peer] = [
      postgresStore({ url, schema, clock, ...options }),
      postgresStore({ url, schema, clock, ...options }),
    ];
    return {
      stores,
      peer,
      async close() {
        await stores.close();
        await peer.close();
        schemas.giveBack(schema);
      },
    };
  },
};

describeStoreAlone('postgresStore()', harness, { describe, it });
