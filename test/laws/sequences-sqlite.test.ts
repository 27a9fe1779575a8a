import { describeSequences } from './sequences.ts';
import { sqliteHarness } from './sqlite-harness.ts';

describeSequences('sqlite()', sqliteHarness);
