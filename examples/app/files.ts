/** The shop's files by name: pictures and CSV files that jobs read, invoices and reports that they write. */

import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { open, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { PermanentError } from '../../core/index.ts';

export interface Files {
  /** The bytes from `start` to `end`, which is the last one; without a range all. Rejects with `missing()`. */
  read(name: string, range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  /** All of it or nothing: nobody may ever mail half a file. */
  write(name: string, content: Buffer | string): Promise<void>;
}

/** A file that is not there does not come by trying again. */
export const missing = (name: string): PermanentError => new PermanentError(`There is no file ${name}.`);

export function filesIn(folder: string): Files {
  for (const name of ['invoices', 'thumbnails', 'clips', 'reports'])
    mkdirSync(join(folder, name), { recursive: true });
  return {
    async read(name, range) {
      const handle = await open(join(folder, name)).catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'ENOENT' ? missing(name) : error;
      });
      return handle.createReadStream(range);
    },
    async write(name, content) {
      const draft = join(folder, `${name}.${randomUUID()}`);
      try {
        await writeFile(draft, content);
        await rename(draft, join(folder, name));
      } catch (error) {
        await rm(draft, { force: true });
        throw error;
      }
    },
  };
}
