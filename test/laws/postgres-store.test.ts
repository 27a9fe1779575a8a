import { afterAll, describe, it } from 'vitest';
import { postgresStore } from '../../local/backends/postgres/index.ts';
import { pair } from '../kit/stores.ts';
import { createSchemas } from '../services/postgres/schemas.ts';
import { describeStoreAlone } from '../testing/laws/store.ts';
import type { StoreHarness } from '../testing/laws/store-alone.ts';
import { describeTexts } from '../testing/laws/texts.ts';

const schemas = await createSchemas();
const { url } = schemas;

afterAll(() => schemas.drop());

const harness: StoreHarness = {
  async open(clock, options) {
    const schema = await schemas.take();
    return pair(
      () => postgresStore({ url, schema, clock, ...options }),
      () => schemas.release(schema),
    );
  },
};

describeStoreAlone('postgresStore()', harness, { describe, it });
describeTexts('postgresStore()', harness, { describe, it });
