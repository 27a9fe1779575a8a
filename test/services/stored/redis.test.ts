/** What version 0.1.0 has left in Redis goes on with today's code. */

import { createClient } from '@redis/client';
import { it } from 'vitest';
import { redis } from '../../../local/backends/redis/index.ts';
import { goOn } from '../../kit/stored/everything/go-on.ts';
import { jsonText } from '../../kit/stored/everything/restore.ts';
import { freshRedis } from '../redis/database.ts';

it('in Redis', async () => {
  const url = await freshRedis();
  const client = createClient({ url, RESP: 2 });
  await client.connect();
  for (const command of await jsonText<string[]>('redis.json')) {
    const bytes = (text: string) =>
      text.startsWith('base64:') ? Buffer.from(text.slice(7), 'base64') : Buffer.from(text);
    await client.sendCommand(command.map(bytes) as never);
  }
  client.destroy();
  await goOn(async (clock) => ({ backend: redis({ url, clock }) }));
});
