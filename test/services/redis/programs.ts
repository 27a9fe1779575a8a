/** Finds the program of a Redis or Valkey server. */

import { findProgram, need } from '../../kit/servers/programs.ts';

/** The path of a server. REDIS_SERVER in the environment names another one. */
export function redisProgram(): string {
  const { REDIS_SERVER } = process.env;
  const found = REDIS_SERVER || findProgram('redis-server', 'valkey-server');
  return need('redis-server (or valkey-server) on the PATH', found, 'redis-server');
}
