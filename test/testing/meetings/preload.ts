import { readdirSync } from 'node:fs';
import { extname } from 'node:path';

const core = new URL('../../../core/', import.meta.url);
const rooms = ['base', 'envelope', 'features', 'kernel', 'kit', 'operations', 'routing', 'surfaces/http'];
/** Its first file makes an isolate of the process that loads it. */
const elsewhere = /(^|\/)sandbox\//;

/**
 * Loads what the core loads with its first use: a file that is read takes time of ours, and a virtual clock would run on
 * meanwhile.
 */
export async function preload(): Promise<void> {
  const extension = extname(import.meta.url);
  for (const room of rooms) {
    const files = readdirSync(new URL(room, core), { recursive: true, encoding: 'utf8' });
    for (const file of files)
      if (file.endsWith(extension) && !file.endsWith(`.d${extension}`) && !elsewhere.test(`${room}/${file}`))
        await import(new URL(`${room}/${file}`, core).href);
  }
}
