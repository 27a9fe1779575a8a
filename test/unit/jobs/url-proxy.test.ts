import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { httpServer } from './kit.ts';

it('A proxy of the environment is not used: it would resolve the name again', async () => {
  const server = await httpServer((_, response) => response.end());
  const proxy = await httpServer((_, response) => response.end());
  const at = `http://127.0.0.1:${proxy.port}`;
  const env = {
    ...process.env,
    NODE_USE_ENV_PROXY: '1',
    http_proxy: at,
    HTTP_PROXY: at,
    https_proxy: at,
    HTTPS_PROXY: at,
    ALL_PROXY: at,
    NO_PROXY: '',
    no_proxy: '',
  };
  const program = join(import.meta.dirname, 'proxy-program.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [program, String(server.port)], { env });
  expect(stdout).toBe('acked');
  expect(server.seen).toHaveLength(1);
  expect(proxy.connections()).toBe(0);
});
