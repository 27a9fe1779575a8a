/** Brings the stored texts back to where they come from. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const textOf = (name: string): Promise<string> =>
  readFile(join(import.meta.dirname, '../0.1.0', name), 'utf8');

export const sqlText = textOf;
export const jsonText = async <T>(name: string): Promise<T[]> => JSON.parse(await textOf(name)) as T[];

/** In a folder of its own, which goes with `remove`. */
export async function sqliteFile(name: string): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-stored-'));
  const path = join(folder, 'jobs.db');
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA synchronous = OFF; BEGIN; ${await textOf(name)} COMMIT;`);
  db.close();
  return { path, remove: () => rm(folder, { recursive: true }) };
}
