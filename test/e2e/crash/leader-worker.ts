/** A worker process that may lead: `node leader-worker.ts <url of Postgres>`. */

import { createApp, keyRing, startWorker } from '../../../core/index.ts';
import { postgres } from '../../../local/backends/postgres/index.ts';
import { leaderJob } from './leader-job.ts';

const app = createApp({ jobs: [leaderJob], signing: keyRing([{ kid: 'k', secret: new Uint8Array(32) }]) });
startWorker(app, { backend: postgres(process.argv[2]!) });
