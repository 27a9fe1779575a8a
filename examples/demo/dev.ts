/** `npm run dev`: runs dev-worker.ts, and runs it again when a source changes. */

import { join } from 'node:path';
import { supervise } from '../../local/dev/supervisor.ts';

process.exitCode = await supervise([join(import.meta.dirname, 'dev-worker.ts')], {
  note: (text) => console.error(text),
  keyboard: null, // Enter is for orders
});
