/** One run of every command with --json, in an order that gives each something to tell. Docs and tests are held against it. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type App, connect } from '../../../core/index.ts';
import { sqlite } from '../../../local/backends/sqlite/index.ts';
import { commands } from '../../../local/cli/commands/index.ts';
import { cli, from, makeProject, root, shopConfig } from './kit.ts';

export interface Told {
  readonly path: string;
  readonly argv: readonly string[];
  readonly code: number;
  readonly stderr: string;
  readonly data: Record<string, unknown>;
}

/** For a Lambda that has nothing to do. */
const functions = `
  export const worker = async () => ({ batchItemFailures: [] });
  export const schedule = async () => ({ enqueued: [] });`;

/** As a path, because a bundler knows no `file:` addresses. */
const at = (path: string): string => JSON.stringify(join(root, path));

/** A function app that has nothing to do. */
const functionApp = `
  import { createApp, defineJob } from ${at('core/index.ts')};
  import { azure } from ${at('functions/azure/index.ts')};
  import { memoryStore } from ${at('local/backends/memory/index.ts')};
  import * as z from ${at('node_modules/zod/index.js')};
  const app = createApp({ jobs: [defineJob({ name: 'idle', payload: z.null(), async handle() {} })] });
  azure(app, { connection: 'SERVICEBUS_CONNECTION', store: memoryStore });`;

const watchedConfig = shopConfig.replace(
  '  schedules: [',
  '  alerts: defineAlerts({ to: sendTo(() => {}) }),\n  queues: { mail: { maxLength: 1_000 } },\n  schedules: [',
);

/** What a tick leaves behind that found its last job unfinished. */
async function leaveOut(file: string, at: number): Promise<void> {
  const backend = sqlite(file);
  const { keys } = backend.stores!;
  await keys.claim('schedule:hourly', 'story', Date.now() + 1_000);
  const skipped = [{ at, lastAt: at, count: 1, reason: 'overlap', id: 'story' }];
  const value = JSON.stringify({ at: Date.now(), lastId: null, skipped });
  await keys.release('schedule:hourly', 'story', { value, keepUntil: Date.now() + 86_400_000 });
  await backend.close();
}

/** What a worker leaves behind that runs a job with a limit. */
async function takeSlot(file: string): Promise<void> {
  const backend = sqlite(file);
  const slot = { key: 'job:greet:concurrency', holder: 'story', owner: 'story', queue: 'default' };
  await backend.stores!.limits!.take([{ ...slot, limit: 1, holdMs: 60_000, rank: 0 }]);
  await backend.close();
}

/** What an importer leaves behind. */
async function sendBatch(folder: string): Promise<void> {
  const { app } = (await import(pathToFileURL(join(folder, 'longshore.config.ts')).href)) as { app: App };
  const client = connect(app, sqlite(join(folder, 'jobs.db')));
  const people = [{ name: 'Ada' }, { name: 'Bob' }];
  const greet = app.jobs.get('greet')! as never;
  await client.batch('greetings of today', people, { job: greet, id: 'greetings', onComplete: greet });
  await client.chain([greet], people[0]! as never, { id: 'greeting-of-ada' });
  await client.close();
}

export async function tellStory(): Promise<{ folder: string; told: readonly Told[] }> {
  const folder = makeProject({
    'longshore.config.ts': `import { defineAlerts, sendTo } from ${from('core/features/alerts/index.ts')};${watchedConfig}`,
    'functions.ts': functions,
    'main.ts': functionApp,
  });
  const told: Told[] = [];
  async function tell(line: string, ...more: string[]): Promise<Record<string, never>> {
    const argv = [...line.split(' '), ...more];
    // Those that stay until somebody ends them are ended at once.
    const around = /^(emulate|dashboard|top)/.test(line) ? { hungUp: AbortSignal.abort() } : {};
    const { code, stdout, stderr } = await cli(folder, [...argv, '--json'], around);
    const path = commands.map((one) => one.path).findLast((one) => `${line} `.startsWith(`${one} `))!;
    const data = JSON.parse(stdout) as Record<string, never>;
    told.push({ path, argv, code, stderr, data });
    return data;
  }
  await tell('init --yes');
  await tell('migrate');
  await tell('keys new --kid k1');
  await tell('keys list');
  await tell('schedule list');
  await tell('tick');
  const { id: dead } = await tell('enqueue mail.send', '{"to":"nobody"}');
  const { id: gone } = await tell('enqueue mail.send', '{"to":"nobody"}');
  await tell('enqueue mail.send', '{"to":"later"}');
  await tell('enqueue greet', '{"name":"Ada"}', '--priority', 'high');
  const { id: late } = await tell('enqueue greet', '{"name":"Bob"}', '--delay', '2h');
  const moment = '2026-01-15T12:00:00.000Z';
  await tell('enqueue greet', '{"name":"hour"}', '--key', `schedule:hourly@${moment}`);
  await leaveOut(join(folder, 'jobs.db'), Date.parse(moment) + 3_600_000);
  await tell('status');
  await tell('top');
  await tell('alerts');
  await tell('alerts --test function');
  await tell('work --drain --no-schedules');
  await tell('work --once --no-schedules');
  await tell('schedule show hourly');
  await tell('schedule list --last');
  await tell('dead list');
  await tell('dead show', dead!, '--body');
  await tell('dead show', dead!);
  await tell('dead groups');
  await tell('dead edit', dead!, '--payload', '{"to":"somebody"}', '--dry-run');
  await tell('dead retry --all --dry-run');
  await tell('dead retry', dead!);
  await tell('dead discard', gone!, '--yes');
  await tell('jobs list --queue default');
  await tell('jobs show', gone === late ? '' : dead!);
  await tell('work --drain --no-schedules');
  await tell('jobs show', dead!, '--payload');
  await tell('jobs run-again', dead!);
  await tell('metrics');
  await tell('jobs update', late!, '--payload', '{"name":"Eve"}', '--delay', '3h', '--priority', 'low');
  await tell('jobs promote', late!);
  await tell('jobs cancel', late!);
  const { id: unwanted } = await tell('enqueue greet', '{"name":"Mallory"}', '--delay', '2h');
  await tell('jobs remove', unwanted!);
  await tell('dead retry --all');
  await tell('audit');
  await tell('jobs pause mail.send');
  await tell('status');
  await tell('jobs resume mail.send');
  await tell('jobs close-breaker mail.send');
  await tell('pause mail');
  await tell('resume mail');
  await tell('clear mail --yes');
  await takeSlot(join(folder, 'jobs.db'));
  await tell('emit packed', '--key', '1042');
  await tell('limits');
  await tell('limits reset', 'job:greet:concurrency', '--yes');
  await tell('reap');
  await tell('purge --older-than 0 --dry-run');
  await tell('purge --older-than 0 --yes');
  await tell('schedule run hourly');
  await tell('schedule pause hourly');
  await tell('schedule resume hourly');
  await tell('schedule upsert ada greet --every 1h --tenant acme', '--payload', '{"name":"Ada"}');
  await tell('schedule stored');
  await tell('schedule remove ada');
  await sendBatch(folder);
  await tell('batches');
  await tell('batches show greetings');
  await tell('batches children greetings');
  await tell('batches cancel greetings --yes');
  await tell('batches retry greetings --yes');
  await tell('chains show greeting-of-ada');
  await tell('chains cancel greeting-of-ada --yes');
  await tell('workers');
  await tell('health --min-workers 0');
  await tell('doctor');
  await tell('check --backend servicebus');
  await tell('package aws --out lambda --template sam');
  await tell('check aws --template lambda/template.yaml');
  await tell('package azure --out azure');
  await tell('check azure --template azure/azure.template.json');
  await tell('simulate lambda functions.ts --exit-when-idle');
  await tell('move --from config --to sqlite:moved.db');
  await tell('simulate functions main.ts --exit-when-idle --port 0');
  await tell('emulate servicebus --port 0');
  await tell('dashboard --port 0');
  const hangUp = new AbortController();
  const running = cli(folder, ['dev', '--no-schedules', '--json'], { hungUp: hangUp.signal });
  const seen = await waitFor(async () => {
    const { stdout } = await cli(folder, ['workers', '--json']);
    return JSON.parse(stdout).workers.length > 0;
  });
  if (seen) {
    const { workers } = await tell('workers');
    await tell('workers drain', (workers as unknown as readonly { id: string }[])[0]!.id);
  }
  hangUp.abort();
  const { code, stdout, stderr } = await running;
  told.push({ path: 'dev', argv: ['dev'], code, stderr, data: JSON.parse(stdout) });
  return { folder, told };
}

async function waitFor(holds: () => Promise<boolean>): Promise<boolean> {
  for (let tries = 0; tries < 100; tries++) {
    if (await holds()) return true;
    await new Promise((wake) => setTimeout(wake, 5));
  }
  return false;
}

/** Objects whose keys are data (queues, ids). */
const maps = ['queues', 'results', 'removed'];

/** The keys of an object, and of what is in it: `a`, `b.c`, `d[].e`. */
export function keysOf(value: unknown, path = ''): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap((one) => keysOf(one, `${path}[]`)))];
  if (typeof value !== 'object' || value === null) return [];
  if (maps.includes(path)) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const here = path === '' ? key : `${path}.${key}`;
    return [here, ...keysOf(member, here)];
  });
}

export const docs = (): string => readFileSync(join(import.meta.dirname, '../../../docs/cli.md'), 'utf8');
