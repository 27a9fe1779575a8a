import { it } from 'vitest';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { goOn } from '../../kit/stored/everything/go-on.ts';
import { sqliteFile } from '../../kit/stored/everything/restore.ts';

it('goes on with all that version 0.1.0 has left in a SQLite file', async () => {
  const { path, remove } = await sqliteFile('sqlite.sql');
  await goOn(async (clock) => ({ backend: sqlite({ path, clock }) }));
  await remove();
});
