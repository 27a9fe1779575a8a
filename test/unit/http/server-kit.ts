/** The handler on a real port; everything that was opened is closed after each test. */

import { afterEach } from 'vitest';
import { type ServeOptions, serveHttp } from '../../../local/serve.ts';
import { createBench } from './kit.ts';

export const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const one of open.splice(0).reverse()) await one.close();
});

export async function start(options: Partial<ServeOptions> = {}, handlerOptions = {}) {
  const bench = createBench(handlerOptions);
  const server = await serveHttp(bench.handler, { port: 0, checkIntervalMs: 20, drainMs: 500, ...options });
  open.push(server);
  return { ...bench, server };
}
