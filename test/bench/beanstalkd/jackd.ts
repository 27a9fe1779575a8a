/** jackd, with a connection for each slot: it takes no second command before the answer to the first. */

import { createRequire } from 'node:module';
import { join } from 'node:path';
import { payload } from '../kit/app.ts';
import type { Opened, Place } from '../kit/contender.ts';
import type { Host } from '../kit/task.ts';

interface Client {
  connect(place: { host: string; port: number }): Promise<unknown>;
  use(tube: string): Promise<unknown>;
  watch(tube: string): Promise<unknown>;
  ignore(tube: string): Promise<unknown>;
  put(data: object): Promise<unknown>;
  reserveWithTimeout(seconds: number): Promise<{ id: string; payload: Buffer }>;
  delete(id: string): Promise<unknown>;
  close(): Promise<unknown>;
}

const senders = 50;

export async function jackd({ url, schema }: Place, host: Host): Promise<Opened> {
  const require = createRequire(join(host.folder, 'package.json'));
  const Jackd = require('jackd') as new () => Client;
  const { hostname, port } = new URL(url);
  const open = async (): Promise<Client> => {
    const client = new Jackd();
    await client.connect({ host: hostname, port: Number(port) });
    await client.use(schema);
    await client.watch(schema);
    await client.ignore('default');
    return client;
  };
  const openMany = (count: number) => Promise.all(Array.from({ length: count }, open));
  const pool = await openMany(senders);
  const free = [...pool];

  return {
    async sendOne(n, at) {
      const client = free.pop()!; // no bench has more under way
      await client.put(payload(n, at));
      free.push(client);
    },
    async sendMany(from, count) {
      let next = from;
      await Promise.all(
        pool.map(async (client) => {
          while (next < from + count) await client.put(payload(next++));
        }),
      );
    },
    async work({ concurrency, count }, watch) {
      const clients = await openMany(concurrency);
      let begun = 0;
      let ran = 0;
      watch.start();
      await Promise.all(
        clients.map(async (client) => {
          while (begun++ < count) {
            const { id } = await client.reserveWithTimeout(1);
            await client.delete(id);
            ran++;
          }
        }),
      );
      watch.stop();
      await Promise.all(clients.map((client) => client.close()));
      return ran;
    },
    async listen(handle) {
      const client = await open();
      let isOpen = true;
      const loop = async () => {
        while (isOpen) {
          const job = await client.reserveWithTimeout(1).catch(() => null); // TIMED_OUT is an error to it
          if (!job) continue;
          handle((JSON.parse(job.payload.toString()) as { at: number }).at);
          await client.delete(job.id);
        }
      };
      const ended = loop();
      return async () => {
        isOpen = false;
        await ended;
        await client.close();
      };
    },
    async close() {
      await Promise.all(pool.map((client) => client.close()));
    },
  };
}
