/** Finds the program of a Redis or Valkey server. */

import { findProgram, found } from '../../kit/servers/programs.ts';

/** The path of a server. REDIS_SERVER in the environment names another one. Throws with the way to get one when there is none. */
export async function redisProgram(): Promise<string> {
  const { REDIS_SERVER } = process.env;
  const program =
    REDIS_SERVER || (await found('redis-server', () => findProgram('redis-server', 'valkey-server')));
  if (program) return program;
  throw new Error(
    'Expected redis-server (or valkey-server) on the PATH, got none. Install it: apt-get install redis-server, or brew install redis.',
  );
}
