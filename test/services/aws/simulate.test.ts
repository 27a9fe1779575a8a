/** `longshore simulate lambda` as somebody runs it: real processes, signals, terminals. */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, it } from 'vitest';
import { root, secret } from '../../e2e/cli/kit.ts';
import { type Around, projects, runCli } from '../../e2e/cli/spawned.ts';
import { at, configFor } from './simulate-kit.ts';

const project = projects();
const simulate = (cwd: string, line: string, around?: Around) =>
  runCli(cwd, `simulate lambda ${line}`, around);

describe('longshore simulate lambda', { timeout: 300_000 }, () => {
  it('shows the invocations, what failed in them and what comes again', async ({ expect }) => {
    const cwd = project({ 'longshore.config.ts': configFor(['throw', 'block']) });
    // A start after a kill is part of an invocation's time, so that is long enough for one.
    const flags = '--exit-when-idle --timeout 5s --visibility 5s --batch-size 1';
    const { code, stdout } = await simulate(cwd, flags);
    expect(code).toBe(0);
    expect(stdout, 'an address that a terminal can open').toMatch(/▸ sqs +at http:\S*[^\s,]\n/);
    expect(stdout).toMatch(/→ mail +1 message\n/);
    expect(stdout).toMatch(/← mail +0 done, 1 reported as failed/);
    expect(stdout).toMatch(/→ mail +1 message, 1 of them again/);
    expect(stdout).toMatch(/↻ ends +attempt 1, again in 1 s: not now/);
    expect(stdout).toMatch(
      /the function failed, 1 message will come again: Task timed out after 5.00 seconds/,
    );
    expect(stdout).toMatch(/idle: .*1 invocation failed as a whole/);
  });

  it('lets SQS move a message that was received too often', async ({ expect }) => {
    const cwd = project({ 'longshore.config.ts': configFor(['block', 'end']) });
    const flags = '--exit-when-idle --json --timeout 5s --visibility 5s --batch-size 1 --max-receives 1';
    const { data } = await simulate(cwd, flags);
    expect(data.ticks, 'without schedules too: it looks after batches').toBeGreaterThan(0);
    expect(data).toMatchObject({
      done: 1,
      failedInvocations: 1,
      redriven: 1,
      queues: { mail: { hidden: 0, dead: 1 } },
    });
  });

  it('prints what enqueue.ts of a new project needs to reach it', async ({ expect }) => {
    const cwd = project({});
    mkdirSync(join(cwd, 'node_modules'));
    for (const [name, path] of [['longshore', '.'] as const, ['zod', 'node_modules/zod'] as const])
      symlinkSync(join(root, path), join(cwd, 'node_modules', name));
    const { stdout: made } = await runCli(cwd, 'init --platform aws --yes');
    expect(made).toMatch(/npm run enqueue +enqueues a job, .* variables that the simulation prints\n/);
    let enqueued: Promise<{ readonly stdout: string }> | undefined;
    const { code, stdout } = await simulate(cwd, '', {
      when: /▸ enqueue .*\n/,
      act(child, output) {
        const [, line = ''] = /▸ enqueue +from another terminal, with (.*)\n/.exec(output) ?? [];
        const { SQS_ENDPOINT: _, ...outer } = process.env;
        const printed = Object.fromEntries(line.split(' ').map((one) => one.split('=')));
        const env = { ...outer, ...printed, LONGSHORE_SIGNING_KEYS: `k:${secret}` };
        enqueued = promisify(execFile)(process.execPath, ['enqueue.ts', 'Grace'], { cwd, env });
        enqueued.catch(() => child.kill());
        child.stdout?.on('data', (text: string) => /← default +1 done/.test(text) && child.kill());
      },
    });
    expect((await enqueued)?.stdout).toMatch(/^Job \S+ is enqueued\.\n$/);
    expect(code).toBe(0);
    expect(stdout).toMatch(/hello Grace\n/);
  });

  it('runs the example shop', async ({ expect }) => {
    const { code, data, stderr } = await simulate(
      root,
      '--config examples/longshore.config.ts --exit-when-idle --json',
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    // An import in 5 chunks with a report, 24 pictures, 5 payments, 20 invoices drawn, mailed and announced, one of nobody, one forged;
    // the partner is busy once.
    expect(data).toMatchObject({ done: 98, messages: 99, reportedFailed: 1, failedInvocations: 0 });
    expect(data.ticks).toBeGreaterThan(0); // one more when a minute ends meanwhile
    expect(data.queues.default).toEqual({ ready: 0, delayed: 0, hidden: 0, dead: 2 });
    const elsewhere = Object.entries<{ dead: number }>(data.queues).filter(([name]) => name !== 'default');
    expect(elsewhere.filter(([, { dead }]) => dead > 0)).toEqual([]);
    expect(elsewhere.map(([name]) => name)).toContain('import-low');
  });

  const endless = `import { writeFileSync } from 'node:fs';
    export const worker = async () => {
      writeFileSync(process.env.PID_FILE, String(process.pid));
      for (;;);
    };`;

  it.for([
    ['Ctrl-C on a terminal', { terminal: true, act: (child) => child.stdin?.write('\u0003') }],
    ['SIGTERM', { act: (child) => child.kill('SIGTERM') }],
  ] satisfies [string, Around][])(
    'ends at %s, and leaves no process and no file',
    async ([, how], { expect }) => {
      // A play of the config belongs to its entry, so this one has to be named there.
      const config = configFor(['end']).replace(at('test/services/aws/runtime-main.ts'), "'./endless.ts'");
      const cwd = project({ 'longshore.config.ts': config, 'endless.ts': endless });
      const [pidFile, temporary] = [join(cwd, 'pid'), join(cwd, 'temporary')];
      mkdirSync(temporary);
      const { code, stdout } = await simulate(cwd, '', {
        ...how,
        when: /→ mail +1 message/,
        env: { PID_FILE: pidFile, TMPDIR: temporary },
      });
      expect(stdout).toMatch(/stopping: 1 invocation may end/);
      expect(stdout).toMatch(/stopped: 1 invocation in/);
      expect(code).toBe(0);
      if (existsSync(pidFile)) {
        const pid = Number(readFileSync(pidFile, 'utf8'));
        expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
      }
      expect(readdirSync(temporary)).toEqual([]);
    },
  );

  it('gives the functions nothing of a real account', async ({ expect }) => {
    const tell = `console.log('seen ' + JSON.stringify(process.env));
      export const worker = async () => ({ batchItemFailures: [] });`;
    const cwd = project({
      'longshore.config.ts': configFor([]),
      'tell.ts': tell,
    });
    const { stdout } = await simulate(cwd, 'tell.ts --exit-when-idle', {
      env: {
        AWS_ACCESS_KEY_ID: 'AKIAREAL',
        AWS_SECRET_ACCESS_KEY: 'real',
        AWS_SESSION_TOKEN: 'real',
        AWS_PROFILE: 'production',
        AWS_ENDPOINT_URL_S3: 'https://s3.eu-central-1.amazonaws.com',
        AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:8000',
        MINE: 'kept',
      },
    });
    const seen = JSON.parse(/seen (\{.*\})/.exec(stdout)![1]!);
    expect(seen).toMatchObject({
      AWS_ACCESS_KEY_ID: 'test',
      AWS_SECRET_ACCESS_KEY: 'test',
      AWS_ENDPOINT_URL: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      AWS_ENDPOINT_URL_DYNAMODB: 'http://127.0.0.1:8000',
      MINE: 'kept',
    });
    expect(Object.keys(seen)).not.toContain('AWS_SESSION_TOKEN');
    expect(Object.keys(seen)).not.toContain('AWS_PROFILE');
    expect(Object.keys(seen)).not.toContain('AWS_ENDPOINT_URL_S3');
  });

  const wrong = {
    'longshore.config.ts': configFor([]),
    'nothing.ts': 'export const other = 1;',
    'throws.ts': `throw new Error('no table');`,
    'broken.ts': `import './nope.ts';`,
    'leaves.ts': 'process.exit(7);',
  };
  it.for([
    ['missing.ts', {}, 2, /There is no file .*missing\.ts/],
    ['nothing.ts', {}, 1, /"worker" does not start: .*main\.worker is undefined or not exported/],
    ['throws.ts', {}, 1, /"worker" does not start: .*no table\./],
    ['broken.ts', {}, 1, /could not be bundled: Could not resolve ".\/nope\.ts" \(.*broken\.ts, line 1\)/],
    ['leaves.ts', {}, 1, /"worker" does not start: .*code 7/],
    ['nothing.ts --visibility 1', {}, 2, /at least 1000 ms/],
    ['nothing.ts --prefix a/b', {}, 2, /--prefix to be up to 40/],
    ['', { SQS_ENDPOINT: 'https://sqs.eu-west-1.amazonaws.com' }, 2, /SQS_ENDPOINT to be on this machine/],
    ['', { SQS_ENDPOINT: 'http://127.0.0.1:1' }, 1, /Expected an SQS at .*ECONNREFUSED/],
  ] as const)('explains `%s`', async ([line, env, code, says], { expect }) => {
    const run = await simulate(project(wrong), line, { env });
    expect(run.stderr).toMatch(says);
    expect({ code: run.code, stdout: run.stdout }).toEqual({ code, stdout: '' });
  });

  it('says which package is missing', async ({ expect }) => {
    const hide = `import { registerHooks } from 'node:module';
      registerHooks({ resolve(name, context, next) {
        if (name === 'fauxqs') throw new Error('not installed');
        return next(name, context);
      } });`;
    const cwd = project({ ...wrong, 'hide.mjs': hide });
    const { code, stderr } = await simulate(cwd, 'nothing.ts', {
      env: { NODE_OPTIONS: `--import ${join(cwd, 'hide.mjs')}` },
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /npm install --save-dev --ignore-scripts fauxqs\. Or set SQS_ENDPOINT to LocalStack or ElasticMQ\./,
    );
  });
});
