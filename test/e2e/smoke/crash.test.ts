import { join } from 'node:path';
import { describeCrash } from '../crash/scenario.ts';

const extent = { workers: 2, kills: 4, plainJobs: 200, keys: 100 };
describeCrash('sqlite', { address: (folder) => join(folder, 'queue.db') }, extent);
