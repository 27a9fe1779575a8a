import { readdirSync } from 'node:fs';
import { extname } from 'node:path';

const core = new URL('../../../core/', import.meta.url);
const rooms = ['base', 'envelope', 'features', 'kernel', 'kit', 'operations', 'routing', 'surfaces/http'];
/** Loading the first file of an isolate would turn the process into one. */
const elsewhere = /(^|\/)(sandbox\/|features\/isolate\.)/;

/**
 * Loads the files that the core loads on first use. Loading takes real time, during which a virtual clock would move on.
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
