import { type Database, freshDatabase } from '../../services/postgres/schemas.ts';
import { describeCrash } from './scenario.ts';

let database: Database | null = null;

describeCrash('postgres', {
  async address() {
    database = await freshDatabase();
    return database.url;
  },
  clear: async () => database?.drop(),
});
