/** The house rules that a compiler does not know: who may import whom, how long a file may be, what is public. */

import { existsSync } from 'node:fs';
import { join, posix, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  files,
  type Import,
  imports,
  importsOf,
  inside,
  manifest,
  read,
  sources,
} from '../../kit/source-tree.ts';

const root = resolve(import.meta.dirname, '../../..');
const isFile = (to: string): boolean => sources.includes(to) || /\.\w+$/.test(to);
const isPackage = (to: string): boolean => !to.startsWith('node:') && !isFile(to);
/** The backend that a file belongs to; `null` for what backends share. */
const backendOf = (path: string): string | null =>
  /^local\/backends\/(?!shared\/)([\w-]+)/.exec(path)?.[1] ?? null;

/** What the files of a part may import. A file may be in several parts, and keeps the rules of all. */
const borders: readonly { rule: string; part(from: string): boolean; may(edge: Import): boolean }[] = [
  {
    rule: 'core imports node built-ins and itself; croner for schedules, the API of OpenTelemetry for telemetry',
    part: inside('core'),
    may: ({ from, to }) =>
      to.startsWith('node:') ||
      inside('core')(to) ||
      (to === 'croner' && from === 'core/kernel/app/cron.ts') ||
      (to === '@opentelemetry/api' && inside('core/surfaces/otel')(from)),
  },
  ...['functions/aws', 'functions/azure', 'local'].map((folder) => ({
    rule: `${folder} imports core, itself and packages`,
    part: inside(folder),
    may: ({ to }: Import) => !isFile(to) || inside('core')(to) || inside(folder)(to),
  })),
  {
    rule: 'backends do not import one another; sync, and beanstalkd where it has no store, stand on memory',
    part: (from) => backendOf(from) !== null,
    may: ({ from, to }) =>
      [null, backendOf(from)].includes(backendOf(to)) ||
      ((backendOf(from) === 'sync' || from === 'local/backends/beanstalkd/alone.ts') &&
        backendOf(to) === 'memory'),
  },
  {
    rule: 'only tests import tests',
    part: (from) => !inside('test')(from) && from !== 'vitest.config.ts',
    may: ({ to }) => !inside('test')(to),
  },
  {
    rule: 'pino is for local only',
    part: (from) => !inside('local')(from) && !inside('test')(from),
    may: ({ to }) => to !== 'pino',
  },
  {
    rule: 'every package is declared',
    part: () => true,
    may: ({ to, typeOnly }) =>
      !isPackage(to) || declared.has(to) || (typeOnly && declared.has(`@types/${to}`)),
  },
];

const declared = new Set(
  [manifest.dependencies, manifest.devDependencies, manifest.peerDependencies ?? {}].flatMap(Object.keys),
);

describe('imports', () => {
  for (const { rule, part, may } of borders) {
    it(rule, () => {
      const offences = imports.filter((edge) => part(edge.from) && !may(edge));
      expect(offences.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
    });
  }

  it('are understood by this test', () => {
    const text = [
      "import { a, type B } from './b.ts';",
      "import type { C } from '../core/c.ts';",
      'export {\n  d,\n} from "pkg/sub";',
      "import '@scope/side/effect';",
      "const e = await import('node:fs');",
      "type F = typeof import('./f.ts');",
      "import { g } from 'longshore/local';",
      "import.meta.resolve('fauxqs');",
    ].join('\n');
    expect(importsOf('local/x.ts', text).map(({ to, typeOnly }) => [to, typeOnly])).toEqual([
      ['local/b.ts', false],
      ['core/c.ts', true],
      ['pkg', false],
      ['@scope/side', false],
      ['local/index.ts', false],
      ['node:fs', false],
      ['local/f.ts', true],
      ['fauxqs', false],
    ]);
  });
});

describe('files', () => {
  it('have at most 400 lines', () => {
    const long = files
      .filter((path) => /(\.(m?ts|ya?ml|sh)|^\.ci\/run)$/.test(path))
      .map((path) => ({ path, lines: read(path).split('\n').length - 1 }))
      .filter(({ lines }) => lines > 400);
    expect(long).toEqual([]);
  });

  it('have no default export', () => {
    const offences = sources.filter((path) => /^export default|\bas default\b/m.test(read(path)));
    expect(
      offences.filter((path) => path !== 'vitest.config.ts' && path !== 'test/unit/house/layout.test.ts'),
    ).toEqual([]);
  });

  it('of core read the environment only for the app and its keys', () => {
    const readers = sources.filter((path) => inside('core')(path) && /\bprocess\.env\b/.test(read(path)));
    expect(
      readers.filter((path) => path !== 'core/kernel/app/app.ts' && path !== 'core/envelope/signing-keys.ts'),
    ).toEqual([]);
  });

  it('name no folder of the machine they were written on, and no private registry', () => {
    const machine =
      /(?<![\w.~:/-])\/(?:work|root|tmp|home\/\w+|Users\/\w+)\/|registry\.(?!npmjs\.org)\w+\.\w+\//;
    const offences = files.flatMap((path) => {
      const found = machine.exec(read(path));
      return found ? [`${path}: ${found[0]}`] : [];
    });
    expect(offences).toEqual([]);
  });
});

describe('package.json', () => {
  const shipped = new Set(
    sources.filter((path) => /^(core|functions|local)\//.test(path)).concat('test/testing/index.ts'),
  );
  for (const path of shipped) {
    for (const { from, to } of imports) if (from === path && isFile(to)) shipped.add(to);
  }
  const entries = sources.filter(
    (path) =>
      /^(core|local|functions\/[\w-]+)\/index\.ts$/.test(path) ||
      [
        'core/features/alerts/index.ts',
        'core/surfaces/dashboard/index.ts',
        'core/surfaces/http/index.ts',
        'core/jobs/index.ts',
        'core/operations/index.ts',
        'core/surfaces/otel/index.ts',
        'local/prometheus/index.ts',
        'test/testing/index.ts',
      ].includes(path) ||
      (/^local\/backends\/[\w-]+(\/index)?\.ts$/.test(path) && backendOf(path) !== null),
  );

  it('exports every entry, and nothing that is not there', () => {
    const exported = Object.values(manifest.exports).map((path) => posix.normalize(path));
    expect(exported.toSorted()).toEqual(entries);
  });

  it('depends on what the shipped code imports, and on nothing else', () => {
    const imported = imports.filter(({ from, to }) => shipped.has(from) && isPackage(to)).map(({ to }) => to);
    const { dependencies, peerDependencies = {} } = manifest;
    expect(Object.keys({ ...dependencies, ...peerDependencies }).toSorted()).toEqual(
      [...new Set(imported)].toSorted(),
    );
  });

  it('brings the Node that runs this test', () => {
    const brought = Object.keys(manifest.optionalDependencies)
      .filter((name) => name.startsWith('node-') && existsSync(join(root, 'node_modules', name)))
      .map((name) => manifest.optionalDependencies[name]);
    if (brought.length > 0) expect(process.version).toBe(`v${brought[0]}`);
    else expect(Number(process.versions.node.split('.')[0])).toBeGreaterThanOrEqual(22); // the machine's own has to do
  });
});

describe('the public names of longshore', () => {
  it('are these; a new one is a decision', () => {
    const text = read('core/index.ts');
    const lists = [...text.matchAll(/^export (?:type )?(?:\* as (?<space>\w+)|\{(?<names>[^}]*)\}) from /gm)];
    expect(lists.length, 'index.ts only passes names on').toBe(text.match(/^export\b/gm)?.length);
    const names = lists
      .flatMap(({ groups }) => groups!.space ?? groups!.names!.split(','))
      .map((name) => name.replace(/\btype\b|\w+ as /g, '').trim())
      .filter((name) => name !== '');
    expect(names.toSorted((a, b) => a.localeCompare(b, 'en'))).toEqual([
      'App',
      'AppOptions',
      'Batch',
      'BatchEnd',
      'Batches',
      'BatchResults',
      'BatchSummary',
      'CancelResult',
      'Chain',
      'Chains',
      'Client',
      'connect',
      'ConnectOptions',
      'Contract',
      'createApp',
      'currentContext',
      'defineJob',
      'defineSchedule',
      'delays',
      'EnqueuedJob',
      'EnqueueOptions',
      'exponential',
      'fixed',
      'HandlerContext',
      'Job',
      'JobContext',
      'JobRecord',
      'keyRing',
      'KeyRing',
      'Link',
      'LongshoreError',
      'LongshoreEvent',
      'MetricReport',
      'MetricRequest',
      'Middleware',
      'noRetry',
      'parseSigningKeys',
      'PayloadStore',
      'perError',
      'PermanentError',
      'QueueBackend',
      'ReceivedEvent',
      'RetryAfterError',
      'RetryPolicy',
      'Schedule',
      'Schedules',
      'SendResult',
      'SigningKey',
      'SnoozeError',
      'StartedChain',
      'startWorker',
      'StoredScheduleInfo',
      'Stores',
      'tick',
      'TransactionContext',
      'withContext',
      'Worker',
      'WorkerOptions',
      'WorkerSummary',
    ]);
    // With the types that declarations of users' files have to name.
    expect(names.length).toBeLessThanOrEqual(60);
  });
});
