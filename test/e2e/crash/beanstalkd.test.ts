import { join } from 'node:path';
import { type BeanstalkdServer, startBeanstalkd } from '../../services/beanstalkd/server.ts';
import { describeCrash } from './scenario.ts';

let server: BeanstalkdServer | null = null;

describeCrash('beanstalkd', {
  keysApart: true,
  async address(folder) {
    server = await startBeanstalkd({ binlog: true });
    return JSON.stringify({ url: server.url, state: join(folder, 'state.db') });
  },
  clear: async () => server?.remove(),
});
