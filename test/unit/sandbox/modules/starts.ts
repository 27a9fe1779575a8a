/** What a jobs file must not do: it starts a worker when it is imported. */

import * as z from 'zod';
import { createApp, defineJob, keyRing, startWorker } from '../../../../core/index.ts';
import { memory } from '../../../../local/backends/memory/index.ts';

export const lost = defineJob({ name: 'lost', payload: z.object({}), handle: () => {} });
const app = createApp({ jobs: [lost], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
startWorker(app, { backend: memory() });
