/** A disk of a few megabytes that can be filled up. It takes root, because only root may mount one. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface SmallDisk {
  readonly folder: string;
  /** Until not a byte is left. */
  fill(): Promise<void>;
  free(): Promise<void>;
  remove(): Promise<void>;
}

// Its input ends when we do, whatever the reason. Lazily, because a server may still be at its end.
const script = `read -r _; umount -l "$1"; rmdir "$1"`;

/** Or why there is none. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk | { readonly refused: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=1777`, 'longshore-disk', folder]);
  } catch (error) {
    await rm(folder, { recursive: true });
    const { stderr, message } = error as Error & { stderr?: string };
    return { refused: (stderr || message).trim() };
  }
  const keeper = spawn('/bin/sh', ['-c', script, 'keeper', folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ballast = join(folder, 'ballast');
  return {
    folder,
    async fill() {
      const file = await open(ballast, 'w');
      const page = Buffer.alloc(4096);
      try {
        for (;;) await file.write(page);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      } finally {
        await file.close();
      }
    },
    free: () => rm(ballast, { force: true }),
    async remove() {
      keeper.stdin.end();
      await once(keeper, 'exit');
    },
  };
}
