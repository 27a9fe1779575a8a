import { afterAll, describe, it } from 'vitest';
import { createSchemas } from '../services/postgres/schemas.ts';
import { describeBackend } from '../testing/laws/backend.ts';
import { describeStore } from '../testing/laws/store.ts';
import { postgresHarness } from './postgres-harness.ts';

const schemas = await createSchemas();
const { url } = schemas;
afterAll(() => schemas.drop());

const harness = postgresHarness(schemas, [{ url }, { url }]);

describeBackend('postgres()', harness, { describe, it });
describeStore('postgres()', harness, { describe, it });
