/** `longshore simulate functions` as somebody runs it: real processes, signals, wrong apps. */

import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { from, root } from '../../e2e/cli/kit.ts';
import { type Around, projects, runCli } from '../../e2e/cli/spawned.ts';

/** A job that ends as it is told. */
const main = `
  import { createApp, defineJob, defineSchedule, fixed, PermanentError } from ${from('core/index.ts')};
  import { azure } from ${from('functions/azure/index.ts')};
  import { memoryStore } from ${from('local/backends/memory/index.ts')};
  import * as z from ${from('node_modules/zod/index.js')};
  export const job = defineJob({
    name: 'ends', queue: 'mail', payload: z.object({ how: z.string() }), maxRetries: 1, retry: fixed(100),
    async handle({ how }, ctx) {
      console.log('job ' + how + ' ' + ctx.attempt);
      if (how === 'badly') throw new PermanentError('no such order');
      if (how === 'late' && ctx.attempt === 1) throw new Error('not yet');
      if (how === 'never') await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason)));
    },
  });
  export const app = createApp({
    jobs: [job],
    schedules: [defineSchedule({ name: 'nightly', cron: '0 2 * * *', job, payload: { how: 'well' } })],
  });
  export const store = memoryStore();
  azure(app, { connection: 'SHOP_BUS', store, drainMs: 300, apiKeys: [{ id: 'ops', key: 'k'.repeat(32) }] });`;

const configFor = (hows: readonly string[], entry = './main.ts'): string => `
  import { connect, createApp, defineJob } from ${from('core/index.ts')};
  import { serviceBus } from ${from('functions/azure/index.ts')};
  import { memory, memoryStore } from ${from('local/backends/memory/index.ts')};
  import * as z from ${from('node_modules/zod/index.js')};
  const job = defineJob({ name: 'ends', queue: 'mail', payload: z.object({ how: z.string() }), async handle() {} });
  export const app = createApp({ jobs: [job] });
  export const backend = () => memory();
  export const simulation = {
    functions: {
      entry: ${JSON.stringify(entry)},
      async start({ connectionString }) {
        const bus = serviceBus({ connectionString, queues: ['mail'] });
        const client = connect(app, bus, { store: memoryStore() });
        return {
          async play() {
            for (const how of ${JSON.stringify(hows)}) await client.enqueue(job, { how });
          },
          stop: () => client.close(),
        };
      },
    },
  };`;

const newProject = projects();
const project = (files: Readonly<Record<string, string>>): string =>
  newProject({ 'main.ts': main, ...files });
const simulate = (cwd: string, line: string, around?: Around) =>
  runCli(cwd, `simulate functions --port 0 ${line}`, around);

describe.concurrent('longshore simulate functions', { timeout: 60_000 }, () => {
  it('shows each call, retries by copies, and what is dead at the end', async ({ expect }) => {
    const cwd = project({ 'longshore.config.ts': configFor(['well', 'late', 'badly']) });
    const { code, stdout, stderr } = await simulate(cwd, '--exit-when-idle');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const line of [
      /▸ servicebus +Endpoint=sb:\/\/127\.0\.0\.1:\d+;/,
      /▸ functions +no host\.json, so the defaults of the host; 16 calls/,
      /» schedule +called/,
      /→ mail +1 message/,
      / {10}job late 1\n/,
      /↻ ends +attempt 1, again in 100 ms: not yet/,
      /✓ ends +.*, attempt 2/,
      /✗ ends +dead-lettered \(permanent\): no such order/,
      /idle: 4 invocations in .*, 4 messages, 4 done\.\nqueue +ready +delayed +hidden +dead\nmail +0 +0 +0 +1\n$/,
    ])
      expect(stdout).toMatch(line);
  });

  it('tells what throws as often as it is delivered, and where Service Bus puts it', async ({ expect }) => {
    const thrower = `import { createRequire } from 'node:module';
      const { app } = createRequire(${from('package.json')})('@azure/functions');
      app.serviceBusQueue('throws', { connection: 'X', queueName: '%THE_QUEUE%', handler() { throw new Error('no table'); } });`;
    const cwd = project({
      'longshore.config.ts': configFor(['well'], './thrower.ts'),
      'thrower.ts': thrower,
    });
    const around = { env: { THE_QUEUE: 'mail' } };
    const { code, data, stderr } = await simulate(cwd, '--exit-when-idle --max-deliveries 3 --json', around);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(data).toMatchObject({
      invocations: 3,
      done: 0,
      failedInvocations: 3,
      redriven: 1,
      queues: { mail: { ready: 0, hidden: 0, dead: 1 } },
    });
  });

  it('answers HTTP, under the prefix of host.json', async ({ expect }) => {
    const host = JSON.stringify({ version: '2.0', extensions: { http: { routePrefix: 'shop' } } });
    const azureJson = main.replace('drainMs: 300,', "drainMs: 300, routePrefix: 'shop',");
    const cwd = project({ 'host.json': host, 'main.ts': azureJson });
    const answers: number[] = [];
    const { code, stdout } = await simulate(cwd, 'main.ts', {
      when: /Ctrl-C ends it/,
      async act(child, text) {
        const url = /http +(http:\S+\/shop)\n/.exec(text)![1]!;
        for (const key of ['k'.repeat(32), 'wrong']) {
          const init = {
            method: 'POST',
            headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
            body: JSON.stringify({ how: 'well' }),
          };
          answers.push((await fetch(`${url}/jobs/ends`, init)).status);
        }
        setTimeout(() => child.kill('SIGINT'), 1_500);
      },
    });
    expect({ code, answers }).toEqual({ code: 0, answers: [202, 401] });
    expect(stdout).toMatch(/← http +POST \/shop\/jobs\/ends 202/);
    expect(stdout).toMatch(/✓ ends/);
  });

  it('drains at SIGTERM, and leaves no file', async ({ expect }) => {
    const cwd = project({ 'longshore.config.ts': configFor(['never']) });
    const temporary = join(cwd, 'temporary');
    mkdirSync(temporary);
    const { code, stdout, stderr } = await simulate(cwd, '', {
      env: { TMPDIR: temporary },
      when: /job never 1/,
      act: (child) => child.kill('SIGTERM'),
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(/stopping: 1 invocation may end/);
    expect(stdout).toMatch(
      /stopped: 1 invocation in .*, 1 message, 1 done\.\nqueue[^\n]*\nmail +[01] +0 +[01] +0\n$/,
    );
    expect(readdirSync(temporary)).toEqual([]);
  });

  it('runs the example shop', async ({ expect }) => {
    const line = '--config examples/longshore.config.ts --exit-when-idle --json';
    const { code, data, stderr } = await simulate(root, line, { env: { DATABASE_URL: '' } });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // An import in 5 chunks, 24 pictures, 5 payments, 20 invoices drawn, mailed and announced, one of nobody, one forged;
    // the partner is busy once.
    expect(data).toMatchObject({ done: 98, messages: 98, failedInvocations: 0 });
    expect(data.queues.default).toEqual({ ready: 0, delayed: 0, hidden: 0, dead: 2 });
  });

  it.for([
    ['missing.ts', 2, /There is no file .*missing\.ts/],
    ['throws.ts', 1, /throws\.ts does not load: no table\./],
    ['nothing.ts', 1, /to register a function for a queue, got 0 others/],
    ['', 2, /No longshore\.config\.ts/],
    ['main.ts --bus-port 70000', 2, /0 to 65535/],
  ] as const)('explains `%s`', async ([line, code, says], { expect }) => {
    const cwd = project({ 'throws.ts': `throw new Error('no table');`, 'nothing.ts': 'export {};' });
    const run = await simulate(cwd, line);
    expect(run.stderr).toMatch(says);
    expect({ code: run.code, stdout: run.stdout }).toEqual({ code, stdout: '' });
  });
});
