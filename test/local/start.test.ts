import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { sqlite } from '../../local/backends/sqlite/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'longshore-start-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function until(child: ChildProcess, said: () => string, text: string): Promise<void> {
  while (!said().includes(text)) {
    if (child.exitCode !== null) throw new Error(`ended without saying "${text}": ${said()}`);
    await once(child.stdout!, 'data');
  }
}

describe('startLocal', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'drains on %s: what can end ends, the rest is handed back without an attempt spent, exit code 0',
    { timeout: 30_000 },
    async (signal) => {
      const path = join(folder, `${signal}.db`);
      const script = join(import.meta.dirname, 'program.ts');
      const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, path]);
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text));
      await until(child, () => output, 'beat');
      await until(child, () => output, 'nap 60000 begins');
      child.kill(signal);
      const [code] = await once(child, 'exit');
      expect(output).toContain('nap 700 ends');
      expect(JSON.parse(output.slice(output.indexOf('stopped ') + 8))).toMatchObject({
        reason: 'signal',
        counts: { requeued: 1 },
        handedBack: 1,
      });
      expect(code).toBe(0);
      const backend = sqlite(path);
      const [left] = await backend.fetch({ queues: ['default'], max: 1, leaseMs: 1_000, waitMs: 0 });
      expect(left).toMatchObject({ attempt: 1, interrupted: false });
      await backend.close();
    },
  );
});
