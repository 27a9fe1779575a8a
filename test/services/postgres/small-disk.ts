/** A disk of a few megabytes that can be filled up. It takes root, because only root may mount one. */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface SmallDisk {
  readonly folder: string;
  /** Until not a byte is left; once more, if others have given some back. */
  fill(): Promise<void>;
  free(): Promise<void>;
  remove(): Promise<void>;
}

// Its input ends when we do, whatever the reason. Lazily, because a server may still be at its end.
const script = `read -r _; umount -l "$1"; rmdir "$1"`;

export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'longshore-disk-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=1777`, 'longshore-disk', folder]);
  } catch (error) {
    await rm(folder, { recursive: true });
    const { stderr, message } = error as Error & { stderr?: string };
    throw new Error(
      `Expected to be able to mount a disk, got: ${(stderr || message).trim()}. Run the tests as root on Linux.`,
    );
  }
  const keeper = spawn('/bin/sh', ['-c', script, 'keeper', folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ballast = join(folder, 'ballast');
  return {
    folder,
    async fill() {
      const file = await open(ballast, 'a');
      try {
        // First in large steps, because others are writing too.
        for (const bytes of [1_048_576, 4_096]) await writeUntilFull(file, Buffer.alloc(bytes));
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

async function writeUntilFull(file: FileHandle, chunk: Buffer): Promise<void> {
  try {
    for (;;) await file.write(chunk);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
