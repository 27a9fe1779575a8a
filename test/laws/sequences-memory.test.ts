import { memoryHarness } from './memory-harness.ts';
import { describeSequences } from './sequences.ts';

describeSequences('memory()', memoryHarness);
