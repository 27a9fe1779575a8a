import { describe, it } from 'vitest';
import { describeBackend } from '../testing/laws/backend.ts';
import { describeStore } from '../testing/laws/store.ts';
import { sqliteHarness as harness } from './sqlite-harness.ts';

describeBackend('sqlite()', harness, { describe, it });
describeStore('sqlite()', harness, { describe, it });
