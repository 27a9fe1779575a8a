/** However `longshore dev` ends, it leaves no process behind. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { until } from '../../kit/until.ts';
import { project, root } from '../cli/kit.ts';
import { faultConfig, isAlive } from './kit.ts';

const argv = [join(root, 'local/cli/main.ts'), 'dev', '--no-schedules', '--log', 'none'];

async function started(command = process.execPath, args: readonly string[] = argv) {
  const scripts = { dev: [process.execPath, ...argv].join(' ') };
  const cwd = project({
    'longshore.config.ts': faultConfig,
    'package.json': JSON.stringify({ type: 'module', scripts }),
  });
  const dev = spawn(command, args, { cwd, stdio: 'ignore' });
  onTestFinished(() => void dev.kill('SIGKILL'));
  const path = join(cwd, 'events');
  const worker = await until(() => {
    const line = existsSync(path) ? /^.*"worker\.started".*$/m.exec(readFileSync(path, 'utf8')) : null;
    return line && (JSON.parse(line[0]).pid as number);
  });
  expect(worker).not.toBe(dev.pid);
  return { dev, worker };
}

describe('`longshore dev`', () => {
  it.for(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('ends with its worker at %s', async (signal) => {
    const { dev, worker } = await started();
    dev.kill(signal);
    expect(await once(dev, 'exit')).toEqual([0, null]);
    expect(isAlive(worker)).toBe(false);
  });

  it('takes its worker with it when it is killed', async () => {
    const { dev, worker } = await started();
    dev.kill('SIGKILL');
    await until(() => !isAlive(worker));
  });

  it('ends with its worker when npm, which has started it, ends without handing the signal on', async () => {
    const { dev: npm, worker } = await started('npm', ['run', 'dev']);
    npm.kill('SIGTERM');
    await until(() => !isAlive(worker));
  });
});
