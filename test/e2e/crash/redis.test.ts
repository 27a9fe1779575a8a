import { type RedisServer, startRedis } from '../../services/redis/server.ts';
import { describeCrash } from './scenario.ts';

let server: RedisServer | null = null;

describeCrash('redis', {
  async address() {
    server = await startRedis({ appendOnly: true });
    return server.url;
  },
  clear: async () => server?.remove(),
});
