/** The demo in a process of its own, as a newcomer runs it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect } from 'vitest';

export const root = join(import.meta.dirname, '../..');

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface DemoOptions {
  readonly backend?: string;
  readonly interruptAt?: RegExp;
  /** Environment variables that say where the servers are. */
  readonly addresses?: Readonly<Record<string, string | undefined>>;
}

/** Only ends what hangs. */
const longestMs = 280_000;
export const demoTimeoutMs = 300_000;

/** Sends SIGINT once when the output matches `interruptAt`. */
export async function demo(
  args: readonly string[],
  { backend = '', interruptAt, addresses }: DemoOptions = {},
): Promise<Ended> {
  const env = {
    ...process.env,
    // FORCE_COLOR beside NO_COLOR makes Node print a warning, and stderr must stay empty.
    NO_COLOR: '1',
    FORCE_COLOR: undefined,
    LONGSHORE_BACKEND: backend,
    LONGSHORE_SIGNING_KEYS: undefined,
    SERVICEBUS_CONNECTION_STRING: undefined,
    SERVICEBUS_CONNECTION: undefined,
    ...addresses,
  };
  const child = spawn(process.execPath, ['examples/demo/main.ts', ...args], { cwd: root, env });
  let stdout = '';
  let stderr = '';
  let interrupted = false;
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    if (!interruptAt?.test(stdout) || interrupted) return;
    interrupted = true;
    child.kill('SIGINT');
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const watchdog = setTimeout(() => child.kill('SIGKILL'), longestMs);
  const [code] = await once(child, 'close');
  clearTimeout(watchdog);
  return { code, stdout, stderr };
}

const rowsPerChunk = 500;

/** Runs it to its end and holds what it counts against what it promises. */
export async function expectWholeDemo(name: string, rows: number, options: DemoOptions = {}): Promise<void> {
  const { code, stdout, stderr } = await demo(['--exit-when-idle', '--json', '--rows', `${rows}`], options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const { durationMs, ...exact } = JSON.parse(stdout);
  // The import with its report and its chunks (a few lines more are broken), 120 invoices drawn, mailed and announced, 24 pictures, 5 payments, 7 jobs for a clip.
  const chunks = Math.floor(rows / rowsPerChunk) + 1;
  const ordered = 2 + chunks + 3 * 120 + 24 + 5 + 7;
  const reports = exact.jobs.acked - ordered; // the schedule fires by the clock, so how often is not ours to say
  expect(reports).toBeGreaterThanOrEqual(1);
  expect(durationMs).toBeGreaterThan(0);
  expect(exact).toEqual({
    backend: name,
    jobs: {
      acked: ordered + reports,
      requeued: 3,
      'dead-lettered': 1,
      rejected: 1,
      'skipped-idempotent': 1,
    },
    files: 120 + 24 + 2,
    mails: 120,
    webhooks: 120,
    rows,
  });
}
