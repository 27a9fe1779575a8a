/** `longshore emulate servicebus` as somebody runs it: a process of its own, the real SDK, signals. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { serviceBus } from '../../../functions/azure/index.ts';
import { memoryStore } from '../../../local/backends/memory/index.ts';
import { cli, makeProject, root, shopConfig } from '../../e2e/cli/kit.ts';

const folder = makeProject({ 'longshore.config.ts': shopConfig });
const empty = makeProject({});
const living = new Set<ChildProcess>();
afterAll(() => {
  for (const child of living) child.kill('SIGKILL');
  for (const one of [folder, empty]) rmSync(one, { recursive: true, force: true });
});

interface Emulator {
  readonly connectionString: string;
  readonly stderr: string;
  end(signal: NodeJS.Signals): Promise<number | null>;
}

async function emulate(cwd: string, line: string, execArgv: readonly string[] = []): Promise<Emulator> {
  const args = [join(root, 'local/cli/main.ts'), 'emulate', 'servicebus', ...line.split(' ').filter(Boolean)];
  const env = { ...process.env, NODE_OPTIONS: '', NO_COLOR: '1', FORCE_COLOR: undefined };
  const child = spawn(process.execPath, [...execArgv, ...args], { cwd, env });
  living.add(child);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const closed = once(child, 'close').then(([code]) => {
    living.delete(child);
    return code as number | null;
  });
  const said = await Promise.race([once(child.stdout.setEncoding('utf8'), 'data'), closed]);
  if (!Array.isArray(said)) throw new Error(`Expected a connection string, got exit code ${said}: ${stderr}`);
  return {
    connectionString: String(said[0]).trim(),
    stderr,
    end(signal) {
      child.kill(signal);
      return closed;
    },
  };
}

describe.concurrent('longshore emulate servicebus', () => {
  it('has the queues of the app, and ends at Ctrl-C while somebody is connected', async () => {
    const emulator = await emulate(folder, '--port 0');
    expect(emulator.connectionString).toMatch(
      /^Endpoint=sb:\/\/127\.0\.0\.1:\d+;.*UseDevelopmentEmulator=true;$/,
    );
    const { connectionString } = emulator;
    const backend = serviceBus({ connectionString, queues: ['default', 'mail'], maxRetries: 0 });
    await backend.check();
    const rest = { priority: 5, notBefore: null, group: null, tenantId: null };
    const message = { id: 'same', queue: 'mail', job: 'mail.send', body: '{}', ...rest };
    await backend.enqueue([message, message]);
    expect(await backend.admin!.stats('mail'), 'one of the two is a duplicate').toMatchObject([{ ready: 1 }]);
    expect(await emulator.end('SIGINT')).toBe(0);
    await expect(backend.check()).rejects.toThrow(/looking for "default"/);
    await backend.close();
  });

  it('needs no config when the queues are named, and lists them', async () => {
    const emulator = await emulate(empty, 'mail --port 0 --lock 5s');
    expect(emulator.stderr).toMatch(/Queues: mail, mail-failed/);
    const options = { connectionString: emulator.connectionString, maxRetries: 0 };
    const backend = serviceBus({ ...options, queues: ['mail', 'other'] });
    await backend.check(['mail']);
    await expect(backend.check(['other'])).rejects.toMatchObject({ code: 'CONFIG' });
    await backend.close();
    expect(await emulator.end('SIGTERM')).toBe(0);
  });

  it('has sessions in the queues that are named for it', async () => {
    const emulator = await emulate(empty, 'mail ledger --sessions ledger --port 0');
    const { connectionString } = emulator;
    const { keys } = memoryStore();
    const backend = serviceBus({ connectionString, queues: ['mail', 'ledger'], sessions: ['ledger'], keys });
    const rest = { job: 'book', body: '{}', priority: 5, notBefore: null, group: 'a', tenantId: null };
    for (const queue of ['mail', 'ledger']) {
      await backend.enqueue(['first', 'second'].map((id) => ({ id, queue, ...rest })));
      const leases = await backend.fetch({ queues: [queue], max: 5, leaseMs: 60_000, waitMs: 0 });
      expect(leases).toHaveLength(queue === 'mail' ? 2 : 1);
    }
    await backend.close();
    expect(await emulator.end('SIGTERM')).toBe(0);
  });

  it('says that a port is taken', async () => {
    const first = await emulate(empty, 'mail --port 0');
    const port = /127\.0\.0\.1:(\d+)/.exec(first.connectionString)![1]!;
    const second = await cli(empty, ['emulate', 'servicebus', 'mail', '--port', port]);
    expect(second).toMatchObject({ code: 1, stdout: '' });
    expect(second.stderr).toMatch(
      /^CONFIG: Expected to listen on port \d+ of 127\.0\.0\.1, but it is taken\./,
    );
    expect(await first.end('SIGINT')).toBe(0);
  });

  it('says which package is missing', async () => {
    const hide = `import { registerHooks } from 'node:module';
      registerHooks({ resolve(name, context, next) {
        if (name === 'rhea') throw new Error('not installed');
        return next(name, context);
      } });`;
    const execArgv = ['--import', `data:text/javascript,${encodeURIComponent(hide)}`];
    const started = emulate(empty, 'mail --port 0', execArgv);
    await expect(started).rejects.toThrow(
      /exit code 1: CONFIG: This needs packages .*npm install --save-dev --ignore-scripts rhea\.\n$/,
    );
  });

  it.each([
    ['--port 70000', 2, /Expected an integer from 0 to 65535/],
    ['a/b', 2, /1 to 128 of/],
    ['mail --port 0 --host 203.0.113.7', 1, /^CONFIG: .*port 0 of 203\.0\.113\.7, but .*EADDRNOTAVAIL/],
    ['', 2, /^CONFIG: No longshore\.config\.ts/],
  ])('refuses `%s`', async (line, code, says) => {
    const ended = await cli(empty, ['emulate', 'servicebus', ...line.split(' ').filter(Boolean)]);
    expect(ended).toMatchObject({ code, stdout: '', stderr: expect.stringMatching(says) });
  });
});
