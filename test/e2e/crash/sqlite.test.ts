import { join } from 'node:path';
import { describeCrash } from './scenario.ts';

describeCrash('sqlite', { address: (folder) => join(folder, 'queue.db') });
