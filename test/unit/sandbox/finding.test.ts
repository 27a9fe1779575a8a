/** How an isolate finds its job, and what is said when it does not. */

import { describe, expect, it, onTestFinished } from 'vitest';
import * as z from 'zod';
import { inheritable } from '../../../core/features/sandbox/isolate.ts';
import { defineJob, type Job, LongshoreError } from '../../../core/index.ts';
import * as jobs from './jobs.ts';
import { createBench } from './kit.ts';

const base = { name: 'x', payload: z.object({}), handle: () => {} };
const module = import.meta.url;

describe('defineJob', () => {
  it.each<[string, Record<string, unknown>, RegExp]>([
    [
      'an unknown kind',
      { isolate: 'fiber', module },
      /isolate of job "x" to be 'thread' or 'process', got "fiber"/,
    ],
    ['true', { isolate: true, module }, /'thread' or 'process', got true/],
    ['null', { isolate: null, module }, /'thread' or 'process', got null/],
    ['no module', { isolate: 'thread' }, /file: URL .* got undefined. Use module: import.meta.url/],
    ['a path', { isolate: 'thread', module: '/jobs.ts' }, /file: URL .* got "\/jobs.ts"/],
    ['a relative path', { isolate: 'process', module: './jobs.ts' }, /file: URL .* got "\.\/jobs.ts"/],
    ['a package', { isolate: 'thread', module: 'node:fs' }, /file: URL .* got "node:fs"/],
    ['a web address', { isolate: 'thread', module: 'https://a.example/jobs.ts' }, /file: URL .* got "https:/],
    ['code', { isolate: 'thread', module: 'data:text/javascript,0' }, /file: URL .* got "data:/],
    ['a module object', { isolate: 'thread', module: {} }, /file: URL .* got an object/],
    [
      'a URL of the web',
      { isolate: 'thread', module: new URL('https://a.example') },
      /file: URL .* got an object/,
    ],
    [
      'no memory',
      { isolate: 'thread', module, maxMemoryMb: 0 },
      /maxMemoryMb of job "x" .* 32 or more, got 0/,
    ],
    ['too little memory', { isolate: 'thread', module, maxMemoryMb: 31 }, /32 or more, got 31/],
    ['half a MiB', { isolate: 'thread', module, maxMemoryMb: 64.5 }, /an integer of 32 or more, got 64.5/],
    [
      'memory as text',
      { isolate: 'process', module, maxMemoryMb: '64' },
      /an integer of 32 or more, got "64"/,
    ],
    ['endless memory', { isolate: 'process', module, maxMemoryMb: Number.POSITIVE_INFINITY }, /got Infinity/],
    ['a module alone', { module }, /has module but no isolate. Add isolate: 'thread' or 'process', or leave/],
    ['a cap alone', { maxMemoryMb: 64 }, /has maxMemoryMb but no isolate/],
  ])('refuses %s', (_, wrong, message) => {
    const define = () => defineJob({ ...base, ...wrong } as never);
    expect(define).toThrow(message);
    expect(define).toThrow(expect.objectContaining({ code: 'CONFIG' }));
  });

  it.each<[Record<string, unknown>, Job['isolation']]>([
    [{}, null],
    [
      { isolate: 'thread', module },
      { kind: 'thread', module, maxMemoryMb: null },
    ],
    [
      { isolate: 'process', module: new URL(module), maxMemoryMb: 32 },
      { kind: 'process', module, maxMemoryMb: 32 },
    ],
  ])('takes %o', (right, isolation) => {
    expect(defineJob({ ...base, ...right } as never).isolation).toEqual(isolation);
  });

  it('is typed', () => {
    const typed = () => [
      defineJob({
        ...base,
        payload: z.object({ n: z.number() }),
        isolate: 'thread',
        module,
        handle: ({ n }) => n + 1,
      }),
      // @ts-expect-error an isolated job needs its module
      defineJob({ ...base, isolate: 'thread' }),
      // @ts-expect-error there is no third kind
      defineJob({ ...base, isolate: 'fiber', module }),
      // @ts-expect-error a cap needs an isolate
      defineJob({ ...base, maxMemoryMb: 64 }),
      // @ts-expect-error so does a module
      defineJob({ ...base, module }),
      // @ts-expect-error a cap is a number
      defineJob({ ...base, isolate: 'process', module, maxMemoryMb: '64' }),
      defineJob({
        ...base,
        payload: z.object({ n: z.number() }),
        isolate: 'thread',
        module,
        // @ts-expect-error the payload is typed as for any other job
        handle: ({ m }) => m,
      }),
    ];
    expect(typed).toThrow(LongshoreError);
  });
});

describe.each(['thread', 'process'] as const)('a %s', (isolate) => {
  it.each([
    [
      'none',
      /^CONFIG: Expected file:.*none\.ts to export job "lost", got the jobs "other"\. Export what defineJob/,
    ],
    ['empty', /^CONFIG: Expected file:.*empty\.ts to export job "lost", got no job\./],
    [
      'twins',
      /^CONFIG: Expected file:.*twins\.ts to export one job "lost", got two\. Give every job its own name/,
    ],
    [
      'throws',
      /^CONFIG: Could not import file:.*throws\.ts for its isolated jobs: DATABASE_URL is not set\./,
    ],
    ['missing', /^CONFIG: Could not import file:.*missing\.ts for its isolated jobs: Cannot find module/],
    [
      'starts',
      /^CONFIG: Expected the module of an isolated job to start nothing .* called startWorker\. Move that/,
    ],
  ])('says what is wrong with module "%s"', async (name, message) => {
    const url = new URL(`./modules/${name}.ts`, import.meta.url);
    const lost = defineJob({ ...base, name: 'lost', maxRetries: 0, isolate, module: url });
    const t = createBench([lost, jobs.plain]);
    onTestFinished(async () => void (await t.worker.stop()));
    for (let times = 0; times < 2; times++) expect((await t.run(lost, {})).error).toMatch(message);
    expect((await t.run(jobs.plain, { n: 1 })).output).toBe(2);
  });

  it('takes a job that is exported under two names', async () => {
    const url = new URL('./modules/aliased.ts', import.meta.url);
    const lost = defineJob({ ...base, name: 'lost', isolate, module: url });
    const t = createBench([lost]);
    onTestFinished(async () => void (await t.worker.stop()));
    expect((await t.run(lost, {})).output).toBe('found');
  });

  it('runs the isolated jobs of a queue of its own plainly', async () => {
    const job = isolate === 'thread' ? jobs.inThread : jobs.inProcess;
    const t = createBench([job]);
    onTestFinished(async () => void (await t.worker.stop()));
    const { output } = await t.run(job, { act: 'nested' });
    const { outer, inner } = output as { outer: object; inner: object };
    expect(inner).toEqual([outer, outer]);
  });
});

describe('a process', () => {
  it.each([
    [
      ['--conditions=dev', '--enable-source-maps'],
      ['--conditions=dev', '--enable-source-maps'],
    ],
    [
      ['--import', './hooks.mjs', '-r', './x.cjs'],
      ['--import', './hooks.mjs', '-r', './x.cjs'],
    ],
    [['--input-type=module', '--eval', 'f()', '--no-warnings'], ['--no-warnings']],
    [['--input-type', 'module', '-e', 'f()', '-p', '1'], []],
    [['--inspect', '--inspect-brk=0', '--inspect-port=1', '--watch', '--watch-path=x', '--test'], []],
    [['--max-old-space-size=4096', '--max-http-header-size=9'], ['--max-http-header-size=9']],
  ])('started from node %j gets %j', (given, kept) => {
    expect(inheritable(given)).toEqual(kept);
  });
});
