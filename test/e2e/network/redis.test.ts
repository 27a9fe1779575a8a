import { redis } from '../../../local/backends/redis/index.ts';
import { freshRedis } from '../../services/redis/database.ts';
import { describeNetwork, silenceMs } from './scenario.ts';

describeNetwork('redis', {
  url: freshRedis,
  open: (url) => redis({ url, silenceMs }),
  async clear() {},
});
