import { postgres } from '../../../local/backends/postgres/index.ts';
import { type Database, freshDatabase } from '../../services/postgres/schemas.ts';
import { describeNetwork, silenceMs } from './scenario.ts';

let database: Database | null = null;

describeNetwork('postgres', {
  async url() {
    database = await freshDatabase();
    await postgres({ url: database.url }).migrate!();
    return database.url;
  },
  open: (url) => postgres({ url }),
  toldAfterMs: silenceMs,
  clear: async () => database?.drop(),
});
