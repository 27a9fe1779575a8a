/**
 * A relay process, made to be killed: `node relayer.ts <url> <path of the target> <die | hang>`. `die`: it kills itself
 * with SIGKILL when the target has confirmed the first batch. `hang`: it says `sending` and stays there.
 */

import type { QueueBackend } from '../../../core/contract/queue.ts';
import { outbox, postgres, startRelay } from '../../../local/backends/postgres/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';

const [url, path, end] = process.argv.slice(2);
const file = sqlite(path!);
const to: QueueBackend = {
  ...file,
  async enqueue(messages) {
    if (end === 'hang') {
      process.stdout.write('sending\n');
      return new Promise(() => {});
    }
    const results = await file.enqueue(messages);
    if (results.every(({ ok }) => ok)) process.kill(process.pid, 'SIGKILL');
    return results;
  },
};
startRelay(outbox(postgres(url!), { to }), { batchSize: 100 });
