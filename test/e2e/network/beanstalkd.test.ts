import { beanstalkd } from '../../../local/backends/beanstalkd/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { type BeanstalkdServer, startBeanstalkd } from '../../services/beanstalkd/server.ts';
import { describeNetwork, silenceMs } from './scenario.ts';

let server: BeanstalkdServer | null = null;
const store = memoryStore();

describeNetwork('beanstalkd', {
  async url() {
    server = await startBeanstalkd();
    return server.url;
  },
  open: (url) => beanstalkd({ url, store, silenceMs, ttrMs: 2_000 }),
  clear: async () => server?.remove(),
});
