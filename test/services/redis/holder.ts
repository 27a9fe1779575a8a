/** A process that leases a job, says so, and then does nothing until it is killed. Arguments: URL, prefix, ms of the lease. */

import { redis } from '../../../local/backends/redis/index.ts';

const [url, prefix, leaseMs] = process.argv.slice(2);
const backend = redis({ url: url!, prefix: prefix! });
const leases = await backend.fetch({ queues: ['default'], max: 10, leaseMs: Number(leaseMs), waitMs: 0 });
process.stdout.write(JSON.stringify(leases));
setInterval(() => {}, 60_000);
