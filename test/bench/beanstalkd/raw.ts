/**
 * The ceiling: commands on one connection, as many reservations at once as there are slots, the deletes of the last batch with the
 * reservations of the next. It asks for no attempts, touches nothing and fences nothing.
 */

import { type Connection, openConnection } from '../../../local/backends/beanstalkd/connection.ts';
import { bodies } from '../kit/app.ts';
import type { Opened, Place } from '../kit/contender.ts';

const connectionTo = (url: string): Promise<Connection> => {
  const { hostname: host, port } = new URL(url);
  return openConnection({ host, port: Number(port), silenceMs: 60_000 });
};

export async function raw({ url, schema }: Place): Promise<Opened> {
  const connection = await connectionTo(url);
  await Promise.all([
    connection.send(`use ${schema}`),
    connection.send(`watch ${schema}`),
    connection.send('ignore default'),
  ]);
  const bodyOf = await bodies();
  const put = (n: number, at: number) => {
    const body = bodyOf(n, at);
    return connection.send(`put 5 0 60 ${body.length}`, body);
  };

  return {
    sendOne: put,
    sendMany: (from, count) => Promise.all(Array.from({ length: count }, (_, i) => put(from + i, 0))),
    async work({ concurrency, count, only }, watch) {
      let ran = 0;
      let done: number[] = [];
      watch.start();
      do {
        const wanted = only ? Math.min(concurrency, count - ran) : concurrency;
        const deletes = done.map((id) => connection.send(`delete ${id}`));
        const asked = Array.from({ length: wanted }, () => connection.send('reserve-with-timeout 0'));
        const got = (await Promise.all(asked)).filter(({ word }) => word === 'RESERVED');
        await Promise.all(deletes);
        done = got.map(({ number }) => number);
        ran += done.length;
      } while (done.length > 0);
      watch.stop();
      return ran;
    },
    async listen(handle) {
      let isOpen = true;
      const loop = async () => {
        while (isOpen) {
          const { word, number, data } = await connection.wait(1);
          if (word !== 'RESERVED') continue;
          handle((JSON.parse(data!.toString()) as { at: number }).at);
          await connection.send(`delete ${number}`);
        }
      };
      const ended = loop();
      return async () => {
        isOpen = false;
        await ended;
      };
    },
    close: async () => connection.destroy(),
  };
}
