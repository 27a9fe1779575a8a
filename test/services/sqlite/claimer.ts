/** Takes and acks until nothing is left, then prints what it had: `node claimer.ts <file> <batch>`. */

import { sqlite } from '../../../local/backends/sqlite/index.ts';

const [path, batch] = process.argv.slice(2);
const backend = sqlite(path!);
const mine: string[] = [];
for (;;) {
  const leases = await backend.fetch({ queues: ['default'], max: Number(batch), leaseMs: 30_000, waitMs: 0 });
  if (leases.length === 0) break;
  const settled = await backend.ack(leases.map((lease) => ({ lease })));
  leases.forEach(({ body }, i) => {
    if (settled[i]) mine.push(body);
  });
}
await backend.close();
process.stdout.write(JSON.stringify(mine));
