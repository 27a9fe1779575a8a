/**
 * A worker of the example shop that kills itself: `node import-worker.ts <folder> <n> <laterMs>`, before or after the nth call of its queue,
 * its batches or its own database. `sealed` for n: as soon as the batch knows that all is sent.
 */

import { join } from 'node:path';
import { type Clock, systemClock } from '../../../core/base/clock.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import { createApp, keyRing, startWorker } from '../../../core/index.ts';
import { openDatabase } from '../../../examples/app/database.ts';
import { filesIn } from '../../../examples/app/files.ts';
import {
  importChunkJob,
  importOrdersJob,
  importReportJob,
} from '../../../examples/app/jobs/import-orders.ts';
import type { Services } from '../../../examples/app/services.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';

/**
 * Only what the import needs: a worker that loads little is killed sooner.
 *
 * @param laterMs how far its clock is ahead: leases of the dead have ended then
 */
export function openShop(folder: string, laterMs: number) {
  const clock: Clock = { ...systemClock, now: () => Date.now() + laterMs };
  const db = openDatabase(join(folder, 'shop.db'));
  const services = { db, files: filesIn(folder) } as unknown as Services;
  const importChunk = importChunkJob(services);
  const importReport = importReportJob(services);
  const importOrders = importOrdersJob(services, importChunk, importReport);
  const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);
  return {
    db,
    importOrders,
    app: createApp({ jobs: [importOrders, importChunk, importReport], signing, clock }),
    backend: sqlite({ path: join(folder, 'queue.db'), clock }),
  };
}

/** The same verbs; `call` hears of each before and after it. */
function watched<Verbs extends object>(verbs: Verbs, names: readonly (keyof Verbs)[], call: () => void) {
  const copy = { ...verbs };
  for (const name of names) {
    const verb = verbs[name] as (...args: unknown[]) => unknown;
    copy[name] = (async (...args: unknown[]) => {
      call();
      const answer = await verb(...args);
      call();
      return answer;
    }) as Verbs[typeof name];
  }
  return copy;
}

if (import.meta.main) {
  const [folder, last, laterMs] = process.argv.slice(2);
  let count = 0;
  const call = () => {
    if (++count === Number(last)) process.kill(process.pid, 'SIGKILL');
  };
  const { db, app, backend } = openShop(folder!, Number(laterMs));
  Object.assign(db, watched(db, ['saveBatch'], call));
  const { hints: _, ...verbs } = watched<QueueBackend>(backend, ['enqueue', 'ack'], call);
  const batches = watched(backend.stores!.batches!, ['open', 'sent', 'ended', 'called'], call);
  const { sent } = batches;
  batches.sent = async (...args) => {
    const state = await sent(...args);
    if (last === 'sealed' && state?.sealed) process.kill(process.pid, 'SIGKILL');
    return state;
  };
  const stores = { ...backend.stores!, batches };
  await startWorker(app, { backend: { ...verbs, stores }, concurrency: 4, untilIdle: true }).done;
}
