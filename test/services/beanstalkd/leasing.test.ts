/** Fetches that fail in part: what they have reserved is released at once, and not when leases end that nobody knows of. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { until } from '../../kit/until.ts';
import { message } from '../sqlite/messages.ts';
import { type BeanstalkdServer, startBeanstalkd } from './server.ts';

let server: BeanstalkdServer;
let prefixes = 0;
beforeAll(async () => {
  server = await startBeanstalkd();
});
afterAll(() => server.remove());

/** A way to the server on which one command is garbled, so that the server refuses it. */
async function startGarbler(command: string, nth: number) {
  const sockets: Socket[] = [];
  let count = 0;
  const garbler = createServer((near) => {
    const far = connect(server.port, '127.0.0.1');
    sockets.push(near, far);
    near.on('data', (bytes) => {
      const text = bytes.toString('latin1');
      far.write(
        text.replaceAll(command, () => (++count === nth ? command.replace('s', '?') : command)),
        'latin1',
      );
    });
    far.on('data', (bytes) => near.write(bytes));
    for (const socket of [near, far])
      socket.on('error', () => {}).on('close', () => [near, far].map((one) => one.destroy()));
  }).listen(0, '127.0.0.1');
  await once(garbler, 'listening');
  return {
    url: `beanstalk://127.0.0.1:${(garbler.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      garbler.close();
      await once(garbler, 'close');
    },
  };
}

const count = 60;
const take = { queues: ['default'], max: 1_000, leaseMs: 60_000, waitMs: 0 };

/** Two openings of one queue. The server refuses a command in the middle of the first one's fetch. */
async function withRefusal(
  [command, nth]: readonly [string, number],
  run: (worker: ReturnType<typeof beanstalkd>, peer: ReturnType<typeof beanstalkd>) => Promise<void>,
): Promise<void> {
  const garbler = await startGarbler(command, nth);
  const store = memoryStore();
  const prefix = `lease-${++prefixes}-`;
  const open = () => beanstalkd({ url: garbler.url, prefix, store });
  const [worker, peer] = [open(), open()];
  await run(worker, peer);
  await worker.close();
  await peer.close();
  await garbler.close();
}

describe('a fetch of which the server refuses a part', () => {
  it('releases what the others have reserved, without counting it', async () => {
    // The first rounds ask for 4 and 16, the third for two parts of 32: it is refused in the second of them.
    await withRefusal(['reserve-with-timeout', 55], async (worker, peer) => {
      await worker.enqueue(Array.from({ length: count }, (_, i) => message({ id: `id-${i}` })));
      await expect(worker.fetch(take)).rejects.toThrow('UNKNOWN_COMMAND');
      const leases = await peer.fetch(take);
      expect(leases.map(({ attempt }) => attempt)).toEqual(Array(count).fill(1));
    });
  });

  it('releases the job whose attempts it does not know, which counts, and its neighbours, which do not', async () => {
    await withRefusal(['stats-job', 30], async (worker, peer) => {
      await worker.enqueue(Array.from({ length: count }, (_, i) => message({ id: `id-${i}` })));
      await expect(worker.fetch(take)).rejects.toThrow('UNKNOWN_COMMAND');
      const leases = await peer.fetch(take);
      const attempts = leases.map(({ attempt }) => attempt).sort();
      expect(attempts).toEqual([...Array(count - 1).fill(1), 2]);
    });
  });

  it('releases a job that it has waited for', async () => {
    await withRefusal(['stats-job', 1], async (worker, peer) => {
      const waiting = worker.fetch({ ...take, waitMs: 10_000 });
      waiting.catch(() => {}); // awaited below
      await until(async () => (await server.count('current-waiting')) === 1);
      await worker.enqueue([message({ id: 'late' })]);
      await expect(waiting).rejects.toThrow('UNKNOWN_COMMAND');
      expect(await peer.fetch(take)).toMatchObject([{ attempt: 2, interrupted: false }]);
    });
  });
});
