/** Where the tests of a run put their temporary files. */

import { mkdtempSync } from 'node:fs';
import { chmod, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { keep } from '../servers/keeper.ts';

const memory = '/dev/shm';
/** The largest tests together stay below a third of it. */
const roomBytes = 8 * 2 ** 30;

/**
 * In memory where Linux has the room: half of what the system does for tests is to bring hundreds of databases to the disk, whose
 * files are gone a moment later. No test stops a machine, so none can tell the difference. Resolves with what removes the folder.
 */
export async function useScratch(): Promise<() => Promise<void>> {
  const before = process.env.TMPDIR;
  if (before !== undefined || !(await hasRoom())) return async () => {};
  const folder = mkdtempSync(join(memory, 'longshore-'));
  const keeper = keep(folder);
  await chmod(folder, 0o711); // servers that run as another user have folders in it
  process.env.TMPDIR = folder;
  return async () => {
    delete process.env.TMPDIR;
    await keeper.end();
  };
}

const hasRoom = (): Promise<boolean> =>
  statfs(memory).then(
    ({ bavail, bsize }) => bavail * bsize >= roomBytes,
    () => false,
  );
