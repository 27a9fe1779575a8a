import { describe, it } from 'vitest';
import { describeBackend } from '../testing/laws/backend.ts';
import { describeStore } from '../testing/laws/store.ts';
import { memoryHarness as harness } from './memory-harness.ts';

describeBackend('memory()', harness, { describe, it });
describeStore('memory()', harness, { describe, it });
