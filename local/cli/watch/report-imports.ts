/** Loaded into a watched program before anything else: tells the watcher which files the program imports. */

import { registerHooks } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isMainThread } from 'node:worker_threads';
import { stampOf } from './stamp.ts';

/** Before the file is read, so that a save while it is read differs from the stamp. */
function report(url: unknown): void {
  if (typeof url !== 'string' || !url.startsWith('file:') || url.includes('/node_modules/')) return;
  const path = fileURLToPath(url);
  for (const imported of [path, dirname(path)]) {
    process.send?.({ imported, stamp: stampOf(imported) }, () => {}); // a watcher that is gone hears nothing
  }
}

const { LONGSHORE_WATCHER: watcher } = process.env;
delete process.env.LONGSHORE_WATCHER; // isolates and programs that this one starts have other parents

/** Whether a watcher has started this process. */
export const isWatched = isMainThread && watcher !== undefined;

if (isWatched) {
  if (watcher !== String(process.ppid)) process.exit(); // it has died meanwhile
  registerHooks({
    resolve(specifier, context, next) {
      try {
        return next(specifier, context);
      } catch (error) {
        report((error as { url?: unknown }).url); // the file that is missing: it may be saved next
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
