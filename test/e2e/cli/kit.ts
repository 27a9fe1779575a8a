/** A temporary project, and command lines run in this process: hundreds of them take a second. */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../core/base/clock.ts';
import type { Io } from '../../../local/cli/io.ts';
import { run } from '../../../local/cli/run.ts';

export const root = resolve(import.meta.dirname, '../../..');
export const secret = Buffer.alloc(32, 7).toString('base64');
process.env.LONGSHORE_SIGNING_KEYS = `first:${secret},second:${Buffer.alloc(32, 8).toString('base64')}`;

/** An address to import something of this repository from, as a literal. */
export const from = (path: string): string => JSON.stringify(pathToFileURL(join(root, path)).href);

/** What the configs of these tests begin with. */
export const imports = `
import * as longshore from ${from('core/index.ts')};
import { memory } from ${from('local/backends/memory/index.ts')};
import { sqlite } from ${from('local/backends/sqlite/index.ts')};
import * as z from ${from('node_modules/zod/index.js')};
const { createApp, defineJob, defineSchedule, fixed, PermanentError } = longshore;
`;

/** Three jobs in two queues, one schedule, one file. */
export const shopConfig = `${imports}
const greet = defineJob({
  name: 'greet',
  payload: z.object({ name: z.string() }),
  async handle({ name }, ctx) {
    ctx.log('hello', { to: name });
    return { greeted: name };
  },
});
const send = defineJob({
  name: 'mail.send',
  queue: 'mail',
  payload: z.object({ to: z.string() }),
  async handle({ to }) {
    if (to === 'nobody') throw new PermanentError('no \\u001b[31msuch\\u202e address');
    if (to === 'later') throw new Error('down for maintenance');
  },
});
const slow = defineJob({
  name: 'slow',
  payload: z.object({ ms: z.number() }),
  async handle({ ms }) {
    await new Promise((resolve) => setTimeout(resolve, ms));
  },
});
export const app = createApp({
  jobs: [greet, send, slow],
  schedules: [defineSchedule({ name: 'hourly', cron: '0 * * * *', job: greet, payload: { name: 'hour' } })],
});
export const backend = () => sqlite(import.meta.dirname + '/jobs.db');
`;

/** The same shop on another backend: an expression. */
export const shopOn = (backend: string): string =>
  shopConfig.replace(/export const backend = .*/, () => `export const backend = ${backend};`);

/** A folder with these files, removed after the test. */
export function project(
  files: Readonly<Record<string, string>> = { 'longshore.config.ts': shopConfig },
): string {
  const folder = makeProject(files);
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function makeProject(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'longshore-cli-'));
  const all = { 'package.json': '{"type":"module"}', ...files };
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

export interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Surroundings extends Partial<Omit<Io, 'isTTY' | 'stdin'>> {
  readonly stdin?: string;
  /** Where a test types instead. */
  readonly terminal?: PassThrough;
  /** All three streams at once. */
  readonly isTTY?: boolean;
}

export async function cli(cwd: string, argv: readonly string[], around: Surroundings = {}): Promise<Ended> {
  const stdout = collector();
  const stderr = collector();
  const { stdin = '', terminal = new PassThrough(), isTTY = false, ...rest } = around;
  const code = await run(argv, {
    cwd,
    env: { LONGSHORE_SIGNING_KEYS: process.env.LONGSHORE_SIGNING_KEYS },
    // A terminal does not end by itself.
    stdin: isTTY ? terminal : Readable.from([stdin]),
    stdout: stdout.stream,
    stderr: stderr.stream,
    isTTY: { stdin: isTTY, stdout: isTTY, stderr: isTTY },
    columns: 100,
    rows: 30,
    clock: systemClock,
    signals: [],
    hungUp: new AbortController().signal,
    supervised: null,
    fleet: null,
    member: null,
    supervisor: null,
    ...rest,
  });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

function collector(): { stream: Writable; text(): string } {
  const parts: string[] = [];
  const stream = new Writable({
    write(chunk, _, done) {
      parts.push(String(chunk));
      done();
    },
  });
  return { stream, text: () => parts.join('') };
}

/** The one JSON object on stdout. */
export async function json(cwd: string, argv: readonly string[], around?: Surroundings) {
  const ended = await cli(cwd, [...argv, '--json'], around);
  const data = JSON.parse(ended.stdout || 'null') as Record<string, unknown> | null;
  return { ...ended, data };
}
