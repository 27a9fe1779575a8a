/** Where `@opentelemetry/api` is not installed, only `longshore/otel` misses it, and says so. */

import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const project = mkdtempSync(join(tmpdir(), 'longshore-otel-'));
beforeAll(() => {
  cpSync(join(root, 'core'), join(project, 'core'), { recursive: true });
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }');
});
afterAll(() => rmSync(project, { recursive: true, force: true }));

const load = (file: string) => {
  const code = `await import('./core/${file}'); console.log('loaded');`;
  return promisify(execFile)(process.execPath, ['--input-type=module', '-e', code], { cwd: project });
};

describe('without the API of OpenTelemetry', () => {
  it.each(['index.ts', 'surfaces/http/index.ts', 'jobs/index.ts', 'features/sandbox/host.ts'])(
    'core/%s is there',
    async (file) => {
      expect((await load(file)).stdout).toBe('loaded\n');
    },
  );

  it('longshore/otel names what is missing', async () => {
    await expect(load('surfaces/otel/index.ts')).rejects.toMatchObject({
      stderr: expect.stringMatching(/Cannot find package '@opentelemetry\/api'/),
    });
  });
});
