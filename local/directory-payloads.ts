/** Stores large payloads as files in a folder, for workers on one machine or with a shared disk. */

import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { config, LongshoreError, shown } from '../core/base/errors.ts';
import { toError } from '../core/base/failure.ts';
import type { PayloadStore } from '../core/contract/store.ts';

/**
 * Stores large payloads as files in this folder, which is created on first use. It does not remove the files of lost jobs: delete old
 * files with a cron job. Throws `CONFIG` for a wrong path.
 */
export function directoryPayloads(path: string): PayloadStore {
  if (typeof path !== 'string' || path === '') {
    throw config(`directoryPayloads() expects the path of a folder, got ${shown(path)}.`);
  }
  const folder = resolve(path);
  return {
    put: (key, bytes) =>
      call(`keeping ${key}`, async () => {
        await mkdir(folder, { recursive: true });
        const draft = join(folder, `.${randomUUID()}`);
        try {
          // Only the owner may read payloads. The rename makes a file appear only when it is complete.
          await writeFile(draft, bytes, { flag: 'wx', mode: 0o600, flush: true });
          await rename(draft, join(folder, key));
        } catch (error) {
          await rm(draft, { force: true });
          throw error;
        }
      }),
    get: (key, maxBytes) =>
      call(`reading ${key}`, async () => {
        try {
          const file = join(folder, key);
          if ((await stat(file)).size > maxBytes) return new Uint8Array();
          return await readFile(file);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
          throw error;
        }
      }),
    delete: (key) => call(`removing ${key}`, () => rm(join(folder, key), { force: true })),
  };

  async function call<T>(during: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      const { message } = toError(cause);
      throw new LongshoreError(
        'BACKEND',
        `The payload store failed while ${during} in ${folder}: ${message}.`,
        { cause },
      );
    }
  }
}
