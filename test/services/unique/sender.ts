/** Enqueues a unique job and kills itself after its nth step in store and queue: `node sender.ts <file> <n>`. */

import { pathToFileURL } from 'node:url';
import * as z from 'zod';
import { connect, createApp, defineJob, keyRing } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';

export const work = defineJob({
  name: 'work',
  payload: z.number(),
  unique: { key: () => 'k', during: 'either' },
  async handle() {},
});
export const signing = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [path = '', last] = process.argv.slice(2);
  const queue = sqlite(path);
  const { keys, records, workers } = queue.stores!;
  let step = 0;
  const counted =
    <Args extends unknown[], Result>(verb: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const result = await verb(...args);
      if (++step === Number(last)) process.kill(process.pid, 'SIGKILL');
      return result;
    };
  const store = {
    keys: { ...keys, claim: counted(keys.claim), release: counted(keys.release) },
    records,
    workers: workers!,
  };
  const app = createApp({ jobs: [work], signing });
  const client = connect(app, { ...queue, enqueue: counted(queue.enqueue) }, { store });
  await client.enqueue(work, 1);
  process.stdout.write('sent');
}
