/** `npm run dev`: runs dev-worker.ts, and runs it again when a source changes. */

import { join } from 'node:path';
import { runWatched } from '../../local/cli/watch/restart.ts';

process.exitCode = await runWatched([join(import.meta.dirname, 'dev-worker.ts')]);
