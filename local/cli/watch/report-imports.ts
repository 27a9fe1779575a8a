/** Loaded first in a watched program. Reports the imported files to the watcher. */

import { registerHooks } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { stampOf } from './stamp.ts';

/** Runs before the file is read, so that a save during the read changes the stamp. */
function report(url: unknown): void {
  if (typeof url !== 'string' || !url.startsWith('file:') || url.includes('/node_modules/')) return;
  const path = fileURLToPath(url);
  for (const imported of [path, dirname(path)]) {
    process.send?.({ imported, stamp: stampOf(imported) }, () => {}); // ignores the error if the watcher has gone
  }
}

const { LONGSHORE_WATCHER: watcher } = process.env;
delete process.env.LONGSHORE_WATCHER; // child processes and isolates of this program must not report

/** Whether a watcher has started this process. */
export const isWatched = isMainThread && watcher !== undefined;

if (isWatched) {
  if (watcher !== String(process.ppid)) process.exit(); // the watcher has died
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context);
      } catch (error) {
        report((error as { url?: unknown }).url); // the missing file may be saved next
        throw error;
      }
    },
    load(url, context, next) {
      report(url);
      return next(url, context);
    },
  });
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
}
