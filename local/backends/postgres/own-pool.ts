/** The pool of `postgres(url)`. It imports the driver at its first use, so an app that lacks the driver hears which package to install. */

import { existsSync } from 'node:fs';
import type pg from 'pg';
import { config, LongshoreError } from '../../../core/base/errors.ts';
import { onDemand } from '../../../core/base/lazy.ts';
import { optional } from '../../../core/base/optional.ts';
import type { Pool } from './client.ts';

const connectTimeoutMs = 5_000;
export const defaultConnections = 10;

/** Throws `CONFIG` for what is no URL of a database. */
export function openPool(url: string): Pool {
  const listeners: ((error: Error) => void)[] = [];
  let pool: Pool | null = null;
  let hasEnded = false;
  checkUrl(url);
  const open = onDemand(async () => {
    const { default: driver } = await import('pg').catch(optional('pg'));
    pool = poolOf(driver, url);
    for (const listener of listeners) pool.on('error', listener);
    return pool;
  });
  return {
    async connect() {
      const opened = pool ?? (await open());
      if (hasEnded) throw new LongshoreError('BACKEND', 'The backend was closed.');
      return opened.connect();
    },
    on(event, listener) {
      listeners.push(listener);
      pool?.on(event, listener);
    },
    async end() {
      hasEnded = true;
      await pool?.end();
    },
    get waitingCount() {
      return pool?.waitingCount ?? 0;
    },
    options: { max: defaultConnections },
  };
}

function checkUrl(url: string): void {
  try {
    // Without a scheme, or with a # in the password, the driver would look for a wrong host.
    if (!/^((postgres|postgresql|socket):|\/)[^#]*$/.test(url)) throw new Error();
    const { password, searchParams } = new URL(url.replace('@/', '@host/'), 'postgres://host');
    decodeURIComponent(password);
    for (const name of ['sslcert', 'sslkey', 'sslrootcert']) {
      const file = searchParams.get(name);
      if (file && !existsSync(file)) throw new Error();
    }
  } catch {
    throw wrongUrl();
  }
}

function poolOf(driver: typeof pg, url: string): Pool {
  const options = { connectionString: url, application_name: 'longshore' };
  try {
    new driver.Client(options); // parses the URL; a pool would do so at its first use
  } catch {
    throw wrongUrl();
  }
  return new driver.Pool({
    ...options,
    max: defaultConnections,
    connectionTimeoutMillis: connectTimeoutMs,
    keepAlive: true,
  }) as unknown as Pool;
}

/** The driver's own message may repeat the URL with the password. */
const wrongUrl = (): LongshoreError =>
  config(
    'postgres() expects a URL like postgres://user:password@host:5432/database, got another. In the password, write characters such as # and / as %23 and %2F.',
  );
