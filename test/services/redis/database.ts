/** A database of the shared Redis server that nobody else uses: for tests that neither end the server nor count its commands. */

import { createClient } from '@redis/client';
import { shared } from '../../kit/shared/shared.ts';

/** Its URL. */
export async function freshRedis(): Promise<string> {
  const { url } = await shared('redis');
  const client = createClient({ url, RESP: 2 });
  await client.connect();
  const number = await client.incr('databases'); // the first one only keeps this count
  client.destroy();
  return `${url}/${number}`;
}
