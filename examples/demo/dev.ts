/** `npm run dev`: runs dev-worker.ts, and runs it again when a source changes. */

import { join } from 'node:path';
import { supervise } from '../../local/dev/supervisor.ts';

const note = (text: string) => console.error(text);
process.exitCode = await supervise([join(import.meta.dirname, 'dev-worker.ts')], note);
