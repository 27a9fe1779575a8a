/** `longshore simulate functions` as somebody runs it: real processes, signals, wrong apps. */

import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { from, root } from '../../e2e/cli/kit.ts';
import { type Around, projects, runCli } from '../../e2e/cli/spawned.ts';
import { configFor, main } from './simulate-kit.ts';

const newProject = projects();
const project = (files: Readonly<Record<string, string>>): string =>
  newProject({ 'main.ts': main, ...files });
const simulate = (cwd: string, line: string, around?: Around) =>
  runCli(cwd, `simulate functions --port 0 ${line}`, around);

describe.concurrent('longshore simulate functions', { timeout: 300_000 }, () => {
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
    // An import in 5 chunks with a report, 24 pictures, 5 payments, 20 invoices drawn, mailed and announced, one of nobody, one forged;
    // the partner is busy once.
    expect(data).toMatchObject({ done: 99, messages: 99, failedInvocations: 0 });
    expect(data.queues.default).toEqual({ ready: 0, delayed: 0, hidden: 0, dead: 2 });
  });

  it.for([
    ['missing.ts', 2, /There is no file .*missing\.ts/],
    ['throws.ts', 1, /throws\.ts does not load: no table\./],
    ['nothing.ts', 1, /registers no function for a queue, only 0 others/],
    ['', 2, /No longshore\.config\.ts/],
    ['main.ts --bus-port 70000', 2, /0 to 65535/],
  ] as const)('explains `%s`', async ([line, code, says], { expect }) => {
    const cwd = project({ 'throws.ts': `throw new Error('no table');`, 'nothing.ts': 'export {};' });
    const run = await simulate(cwd, line);
    expect(run.stderr).toMatch(says);
    expect({ code: run.code, stdout: run.stdout }).toEqual({ code, stdout: '' });
  });
});
