/** However the attempt ends, nothing of the command is left. Checked by process id. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { connect, createApp, keyRing, startWorker } from '../../../core/index.ts';
import { commandJob } from '../../../core/jobs/command.ts';
import type { EndCause } from '../../../core/kernel/attempt/run.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { until } from '../../kit/until.ts';
import { createVirtualClock } from '../../testing/virtual-clock.ts';
import { begin, runOnce } from './kit.ts';
import { type Folder, folder, runs } from './scripts.ts';

const causes: readonly EndCause[] = ['timeout', 'cancelled', 'shutdown', 'lease-lost'];
/** The `sleep` is `exec`ed: then the process whose id was written is the one that sleeps. */
const family = (trap: string) =>
  `${trap}
(${trap} (${trap} sh -c 'echo $$ >> "$1"; exec sleep 600' sh "$0.pids") & sh -c 'echo $$ >> "$1"; exec sleep 600' sh "$0.pids") &
echo $$ >> "$0.pids"
while :; do sleep 600; done`;
const polite = family('');
/** Ignored signals stay ignored in children and over `exec`. */
const stubborn = family("trap '' TERM;");

const gone = (pids: readonly number[]) => until(() => !pids.some(runs));

async function started(dir: Folder, body: string, killAfterMs = 30) {
  const command = dir.script('family', body);
  const job = commandJob({ allow: [command], killAfterMs });
  const { run, done } = await begin(job, { command });
  const pids = await dir.pids('family.pids', 3);
  expect(pids.filter(runs)).toHaveLength(3);
  return { run, done, pids };
}

describe('a command with children and grandchildren', () => {
  it.each(causes)('that obey SIGTERM is gone before the handler comes back from %s', async (cause) => {
    const { run, done, pids } = await started(folder(), polite, 60_000);
    run.interrupt(cause);
    const result = await done;
    expect(result.error?.code).toMatch(/^(TIMEOUT|CANCELLED|LEASE_LOST)$/);
    expect(pids.filter(runs)).toEqual([]);
  });

  it.each(causes)('that ignore SIGTERM is killed before the handler comes back from %s', async (cause) => {
    const { run, done, pids } = await started(folder(), stubborn);
    run.interrupt(cause);
    await done;
    expect(pids.filter(runs)).toEqual([]);
  });

  it.each(causes)('is killed although nobody waits for the handler after %s', async (cause) => {
    const { run, done, pids } = await started(folder(), stubborn);
    run.end(cause);
    await done;
    await gone(pids);
  });

  it('is told by SIGTERM and may use the time to clean up, which does not make it a success', async () => {
    const dir = folder();
    const command = dir.script(
      'tidy',
      `trap 'echo tidied > "$0.tidied"; exit 0' TERM; echo $$ > "$0.pids"; while :; do sleep 0.01; done`,
    );
    const { run, done } = await begin(commandJob({ allow: [command], killAfterMs: 60_000 }), { command });
    await dir.pids('tidy.pids', 1);
    run.interrupt('timeout');
    expect(await done).toMatchObject({ outcome: 'requeued', error: { code: 'TIMEOUT' } });
    const seen = await runOnce(commandJob({ allow: ['/bin/cat'] }), {
      command: '/bin/cat',
      args: [`${command}.tidied`],
    });
    expect(seen.output).toMatchObject({ stdout: 'tidied\n' });
  });

  it('is killed with killAfterMs 0 as well', async () => {
    const { run, done, pids } = await started(folder(), stubborn, 0);
    run.interrupt('timeout');
    await done;
    expect(pids.filter(runs)).toEqual([]);
  });

  it('leaves none of them behind when it ends by itself', async () => {
    const dir = folder();
    const left = `(trap '' TERM; sh -c 'echo $$ >> "$1"; exec sleep 600' sh "$0.pids") &
while [ ! -s "$0.pids" ]; do sleep 0.01; done; echo done`;
    const command = dir.script('leaver', left);
    const result = await runOnce(commandJob({ allow: [command], killAfterMs: 30 }), { command });
    expect(result).toMatchObject({ outcome: 'acked', output: { stdout: 'done\n' } });
    const pids = await dir.pids('leaver.pids', 1);
    expect(pids.filter(runs)).toEqual([]);
  });

  it('does not hold the job up by a process that left the group with the pipes', async () => {
    const dir = folder();
    const program = dir.file(
      'daemon.mjs',
      `import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
const child = spawn('sleep', ['600'], { detached: true, stdio: 'inherit' });
writeFileSync(process.argv[2], child.pid + '\\n');
child.unref();`,
    );
    const job = commandJob({ allow: [process.execPath], killAfterMs: 30 });
    const args = [program, join(dir.path, 'daemon.pids')];
    const result = await runOnce(job, { command: process.execPath, args });
    expect(result).toMatchObject({ outcome: 'acked' });
    const [pid] = await dir.pids('daemon.pids', 1);
    process.kill(pid!, 'SIGKILL');
  });

  // Only Linux tells who is dead but not reaped.
  it.runIf(process.platform === 'linux')('does not wait for the dead that nobody reaps', async () => {
    const dir = folder();
    // The inner shell becomes a `sleep` in another session, which never asks after the child that it inherits.
    const body = `sh -c 'sleep 0.01 & echo $$ > "$1"; exec setsid sleep 600' sh "$0.pids" > /dev/null 2>&1 &
while [ ! -s "$0.pids" ]; do sleep 0.01; done; sleep 0.1`;
    const command = dir.script('grave', body);
    const job = commandJob({ allow: [command], killAfterMs: 60_000 });
    expect(await runOnce(job, { command })).toMatchObject({ outcome: 'acked' });
    const [parent] = await dir.pids('grave.pids', 1);
    process.kill(parent!, 'SIGKILL');
  });

  it('is not even started when the attempt has ended before', async () => {
    const dir = folder();
    const command = dir.script('late', 'echo $$ > "$0.pids"');
    const { run, done } = await begin(commandJob({ allow: [command] }), { command });
    run.interrupt('cancelled');
    expect(await done).toMatchObject({ error: { code: 'CANCELLED' } });
    const found = await runOnce(commandJob({ allow: ['/bin/ls'] }), { command: '/bin/ls', args: [dir.path] });
    expect(found.output).toMatchObject({ stdout: 'late\n' });
  });
});

describe('a worker', () => {
  const ring = keyRing([{ kid: 'k', secret: new Uint8Array(32) }]);

  it('that times a command out kills it', async () => {
    const dir = folder();
    const command = dir.script('family', stubborn);
    const job = commandJob({ allow: [command], timeoutMs: 5_000, killAfterMs: 30, maxRetries: 0 });
    const clock = createVirtualClock();
    const app = createApp({ jobs: [job], signing: ring, clock });
    const backend = memory({ clock });
    const client = connect(app, backend);
    const { id } = await client.enqueue(job, { command });
    const worker = startWorker(app, { backend });
    const pids = await dir.pids('family.pids', 3);
    clock.advance(5_000);
    await until(() => worker.running() === 0);
    await gone(pids);
    expect((await client.status(id))?.attempts[0]?.error?.code).toBe('TIMEOUT');
    await worker.stop();
  });

  it('that stops gives the job back when the command is gone', async () => {
    const dir = folder();
    const command = dir.script('family', stubborn);
    const job = commandJob({ allow: [command], killAfterMs: 30 });
    const app = createApp({ jobs: [job], signing: ring });
    const backend = memory();
    await connect(app, backend).enqueue(job, { command });
    const worker = startWorker(app, { backend, drainMs: 0 });
    const pids = await dir.pids('family.pids', 3);
    expect(await worker.stop()).toMatchObject({ released: 1 });
    expect(pids.filter(runs)).toEqual([]);
  });

  it('that exits at once takes its commands with it', async () => {
    const dir = folder();
    const command = dir.script('family', stubborn);
    const program = join(import.meta.dirname, 'exit-program.ts');
    await promisify(execFile)(process.execPath, [program, command, `${command}.pids`]);
    await gone(await dir.pids('family.pids', 3));
  });

  it('keeps no listener when its commands have ended', async () => {
    const before = process.listenerCount('exit');
    const job = commandJob({ allow: ['/bin/echo'] });
    await Promise.all(Array.from({ length: 5 }, () => runOnce(job, { command: '/bin/echo' })));
    expect(process.listenerCount('exit')).toBe(before);
  });
});
