/** The shop's files by name: pictures and CSV files that jobs read, invoices and reports that they write. */

import { randomUUID } from 'node:crypto';
import { createReadStream, mkdirSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';

export interface Files {
  /** The bytes from `start` to `end`, which is the last one; without a range all. */
  read(name: string, range?: { readonly start: number; readonly end: number }): Promise<Readable>;
  /** All of it or nothing: nobody may ever mail half a file. */
  write(name: string, content: Buffer | string): Promise<void>;
}

export function filesIn(folder: string): Files {
  for (const name of ['invoices', 'thumbnails', 'reports'])
    mkdirSync(join(folder, name), { recursive: true });
  return {
    read: async (name, range) => createReadStream(join(folder, name), range),
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
