/** Workers as `longshore dev` starts them, on a queue in a file, with their faults and what they report. */

import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import {
  type SupervisorCalls,
  startWatched,
  type WatchedChild,
  type WorkerCalls,
} from '../../../local/dev/processes.ts';
import { createFaults } from '../../../local/dev/supervisor.ts';
import { until } from '../../kit/until.ts';
import { imports, json, project, root } from '../cli/kit.ts';

/**
 * `wait` runs until there is a file of its payload's name; `once` is the same with an idempotency key; `child` enqueues another job. Every
 * event goes to `events`, with the id of its process.
 */
export const faultConfig = `${imports}
import { appendFileSync, existsSync } from 'node:fs';
const here = (name) => import.meta.dirname + '/' + name;
const waiting = async ({ file }, ctx) => {
  while (!existsSync(here(file)) && !ctx.signal.aborted) await new Promise((resolve) => setTimeout(resolve, 5));
  ctx.log('interrupted ' + ctx.signal.aborted);
};
const payload = z.object({ file: z.string() });
const wait = defineJob({ name: 'wait', payload, retry: fixed(20), handle: waiting });
const once = defineJob({ name: 'once', payload, idempotencyKey: ({ file }) => file, handle: waiting });
const quick = defineJob({ name: 'quick', payload: z.object({}), retry: fixed(20), async handle() {} });
const parent = defineJob({ name: 'parent', payload, retry: fixed(20), async handle(given, ctx) {
  await waiting(given, ctx);
  await ctx.enqueue(quick, {});
} });
export const app = createApp({
  jobs: [wait, once, quick, parent],
  schedules: [defineSchedule({ name: 'hourly', cron: '0 * * * *', job: quick, payload: {} })],
  on: (event) => appendFileSync(here('events'), JSON.stringify({ pid: process.pid, ...event, cause: undefined }) + '\\n'),
});
export const backend = () => sqlite(here('jobs.db'));
`;

// biome-ignore lint/suspicious/noExplicitAny: any event
type AnyEvent = any;

/** Short, so that nobody waits long for what a dead worker has left. */
const leaseMs = 1_500;

export function startDev(flags: readonly string[] = ['--no-schedules']) {
  const cwd = project({ 'longshore.config.ts': faultConfig });
  const children: WatchedChild<WorkerCalls>[] = [];
  const notes: string[] = [];
  const entry = join(root, 'local/cli/main.ts');
  const config = ['--config', join(cwd, 'longshore.config.ts')];
  const argv = [entry, 'dev', '--log', 'none', '--lease', `${leaseMs}ms`, ...flags, ...config];
  let worker: WatchedChild<WorkerCalls>;

  const faults = createFaults({
    note: (text) => notes.push(text),
    skip: async () => {},
    worker: () => worker,
    startWorker: start,
  });

  function start(ready: () => void = () => {}): WatchedChild<WorkerCalls> {
    const child = startWatched<WorkerCalls>(argv, (mine) => {
      const calls: Partial<SupervisorCalls> = {
        begin: () => ({
          dashboard: null,
          aheadMs: faults.aheadMs(),
          frozenPid: faults.frozenPid(),
          hasFaults: true,
        }),
        async ready() {
          ready();
          return null;
        },
        caught: (attempt) => faults.caught(mine, attempt),
      };
      return calls;
    });
    children.push(child);
    return child;
  }

  async function begin(): Promise<WatchedChild<WorkerCalls>> {
    await new Promise<void>((resolve) => {
      worker = start(resolve);
    });
    return worker;
  }

  onTestFinished(async () => {
    faults.thaw();
    await Promise.all(children.map((child) => (child.hasEnded() ? null : child.stop())));
  });

  const events = (): AnyEvent[] => {
    const path = join(cwd, 'events');
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
    return lines.map((line) => JSON.parse(line));
  };
  return {
    cwd,
    notes,
    children,
    begin,
    events,
    cause: async (name: string) => (await faults.cause(name)).message,
    faults,
    /** Lets the jobs that wait for this file end. */
    allow: (file: string) => appendFileSync(join(cwd, file), ''),
    async enqueue(job: string, payload: object, ...rest: string[]): Promise<string> {
      const { data } = await json(cwd, ['enqueue', job, JSON.stringify(payload), ...rest]);
      return data!.id as string;
    },
    /** Its record, once it `matches`. */
    record: (id: string, matches: (record: AnyEvent) => boolean): Promise<AnyEvent> =>
      until(async () => {
        const { data } = await json(cwd, ['jobs', 'show', id]);
        const record = data?.job as AnyEvent;
        return record && matches(record) ? record : null;
      }),
    event: (matches: (event: AnyEvent) => boolean): Promise<AnyEvent> =>
      until(() => events().find(matches) ?? null),
  };
}

export const isCompleted = ({ status }: AnyEvent): boolean => status === 'completed';

export const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};
