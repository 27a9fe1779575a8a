/** Configs that are missing, broken or of another shape. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configNames } from '../../../local/cli/config/config.ts';
import { cli, imports, json, project, root, shopConfig } from './kit.ts';
import { runCli } from './spawned.ts';

const app = `const app = createApp({ jobs: [defineJob({ name: 'a', payload: z.object({}), handle() {} })] });`;

const rows: readonly [what: string, text: string, exit: number, code: string, says: RegExp][] = [
  [
    'exports nothing',
    'export {};',
    1,
    'CONFIG',
    /to export an app, got none \(it exports: nothing\)\. Write/,
  ],
  [
    'exports a wrong default',
    'export default { app: 1, backend: 2 };',
    1,
    'CONFIG',
    /it exports: app, backend/,
  ],
  [
    'exports no backend',
    `${imports}${app} export { app };`,
    1,
    'CONFIG',
    /to export a backend, got none \(it exports: app\)/,
  ],
  [
    'exports no app',
    `${imports} export const backend = memory();`,
    1,
    'CONFIG',
    /to export an app, got none/,
  ],
  [
    'exports options as app',
    `${imports} export const app = { jobs: [] }; export const backend = memory();`,
    1,
    'CONFIG',
    /got an object of another kind/,
  ],
  [
    'exports a function as app',
    `${imports} export const app = () => 1; export const backend = memory();`,
    1,
    'CONFIG',
    /got a function/,
  ],
  [
    'exports a path as backend',
    `${imports}${app} export { app }; export const backend = 'jobs.db';`,
    1,
    'CONFIG',
    /to be a QueueBackend such as sqlite\('jobs\.db'\), got a string/,
  ],
  [
    'has a backend that returns nothing',
    `${imports}${app} export { app }; export const backend = () => {};`,
    1,
    'CONFIG',
    /QueueBackend .*got none/,
  ],
  [
    'has a backend that throws',
    `${imports}${app} export { app }; export const backend = () => { throw new Error('no route'); };`,
    1,
    'CONFIG',
    /could not be opened: no route/,
  ],
  [
    'has a backend that rejects',
    `${imports}${app} export { app }; export const backend = async () => { throw new Error('connect ECONNREFUSED postgres://ada:hunter2@db/q'); };`,
    1,
    'CONFIG',
    /postgres:\/\/\*\*\*@db/,
  ],
  [
    'has a backend without a file',
    `${imports}${app} export { app }; export const backend = () => sqlite('');`,
    1,
    'CONFIG',
    /sqlite\(\) expects the path/,
  ],
  [
    'has a backend in a file',
    `${imports}${app} export { app }; export const backend = () => sqlite(import.meta.filename);`,
    1,
    'CORRUPT',
    /Choose another path/,
  ],
  [
    'has a backend below a file',
    `${imports}${app} export { app }; export const backend = () => sqlite(import.meta.filename + '/x.db');`,
    1,
    'READ_ONLY',
    /Check the path/,
  ],
  [
    'has a list as store',
    `${imports}${app} export { app }; export const backend = memory(); export const store = 7;`,
    1,
    'CONFIG',
    /store .*got a number/,
  ],
  [
    'throws',
    `throw new Error('not today');`,
    1,
    'CONFIG',
    /longshore\.config\.ts could not be loaded: line 1, column 7: not today\./,
  ],
  ['throws text', `throw 'not today';`, 1, 'CONFIG', /could not be loaded: not today\./],
  [
    'has two jobs of one name',
    `${imports} const a = defineJob({ name: 'a', payload: z.object({}), handle() {} }); export const app = createApp({ jobs: [a, a] });`,
    1,
    'CONFIG',
    /CONFIG: Two jobs are called "a"/,
  ],
  [
    'has no jobs',
    `${imports} export const app = createApp({ jobs: [] }); export const backend = memory();`,
    1,
    'CONFIG',
    /needs at least one queue/,
  ],
];

const helped = `import { help } from './lib/help.ts';\n${imports}${app} export { app, help }; export const backend = memory();`;

const broken: readonly [what: string, files: Record<string, string>, says: string | RegExp][] = [
  [
    'of TypeScript has a syntax error',
    { 'lib/help.ts': 'const a = 1;\nexport const help = (: number) => {};\n' },
    'lib/help.ts could not be loaded: line 2, column 22: Expression expected.',
  ],
  [
    'of JavaScript ends too early',
    { 'lib/help.ts': "export * from './old.js';", 'lib/old.js': 'export function help( {\n' },
    'lib/old.js could not be loaded: line 2: Unexpected end of input.',
  ],
  [
    'of JSON has a comma too many',
    {
      'lib/help.ts': "import data from './data.json' with { type: 'json' };\nexport const help = data;\n",
      'lib/data.json': '{ "a": 1,, }',
    },
    /^lib\/data\.json could not be loaded: line 1, column 10: Expected double-quoted property name in JSON/,
  ],
  [
    'of JSON is imported without its type',
    {
      'lib/help.ts': "\nimport data from './data.json';\nexport const help = data;\n",
      'lib/data.json': '{}',
    },
    /^lib\/help\.ts could not be loaded: line 2: .* Write import data from '\.\/data\.json' with \{ type: 'json' \}\.$/,
  ],
  [
    'has another name',
    { 'lib/helper.ts': 'export const help = 1;' },
    /^longshore\.config\.ts could not be loaded: line 1: Cannot find module .* Did you mean .*lib\/helper\.ts\?$/,
  ],
  [
    'imports a file without its ending',
    { 'lib/help.ts': "\n\nexport * from './more';" },
    /^lib\/help\.ts could not be loaded: line 3: Cannot find module .* need their ending/,
  ],
  [
    'imports a package that is not there',
    { 'lib/help.ts': "\nexport * from 'no-such-package';" },
    /^lib\/help\.ts could not be loaded: line 2: Cannot find package .* Run npm install /,
  ],
  [
    'has no such export',
    { 'lib/help.ts': 'export const halp = 1;' },
    /^longshore\.config\.ts could not be loaded: line 1, column 10: .* does not provide an export named 'help'/,
  ],
  [
    'is CommonJS, so Node does not know its members by name',
    {
      'lib/help.cts': 'module.exports = { help: 1 };',
      'longshore.config.ts': "export { help } from './lib/help.cts';",
    },
    /does not provide an export named 'help'\. \.\/lib\/help\.cts is CommonJS: import the whole of it/,
  ],
  [
    'throws',
    { 'lib/help.ts': "\n\n  throw new Error('no DATABASE_URL');\nexport const help = 1;" },
    'lib/help.ts could not be loaded: line 3, column 9: no DATABASE_URL.',
  ],
  [
    'defines a job wrongly',
    {
      'lib/help.ts': `${imports}export const help = defineJob({ name: 'a b', payload: z.any(), handle() {} });`,
    },
    /^lib\/help\.ts could not be loaded: line 7, column 21: CONFIG: /,
  ],
];

describe('a file of the config that', () => {
  // In a process of its own: the test runner loads modules in its own way.
  it.each(broken)('%s is named with the line', async (_, files, says) => {
    const cwd = project({ 'longshore.config.ts': helped, ...files });
    const { code, stderr } = await runCli(cwd, 'schedule list --json');
    expect(code).toBe(1);
    expect(JSON.parse(stderr).error).toMatchObject({
      code: 'CONFIG',
      message: typeof says === 'string' ? says : expect.stringMatching(says),
    });
  });
});

describe('a config that', () => {
  it.each(rows)('%s ends with a sentence', async (_, text, exit, code, says) => {
    const folder = project({ 'longshore.config.ts': text });
    const { stderr, stdout, code: ended } = await cli(folder, ['work', '--once', '--json']);
    const { error } = JSON.parse(stderr);
    expect({ ended, stdout, code: error.code }).toEqual({ ended: exit, stdout: '', code });
    expect(error.message).toMatch(says);
    expect(error.message).not.toContain('hunter2');
  });
});

describe('the config of a CommonJS package', () => {
  const definitions = `const { createApp, defineJob } = require('${root}/core/index.ts');
    const { memory } = require('${root}/local/backends/memory/index.ts');
    const payload = { '~standard': { version: 1, vendor: 'own', validate: (value) => ({ value }) } };
    const app = createApp({ jobs: [defineJob({ name: 'a', payload, handle() {} })] });`;

  it.each([
    ['module.exports', 'longshore.config.cjs', 'module.exports = { app, backend: () => memory() };'],
    ['exports', 'longshore.config.js', 'exports.app = app; exports.backend = memory();'],
  ])('exports with %s in %s', async (_, name, text) => {
    const cwd = project({ 'package.json': '{"type":"commonjs"}', [name]: `${definitions}\n${text}` });
    const { code, stdout, stderr } = await runCli(cwd, 'status --json');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout).queues).toMatchObject([{ queue: 'default' }]);
  });

  it('imports jobs in CommonJS from longshore.config.mts', async () => {
    const cwd = project({
      'package.json': '{"type":"commonjs"}',
      'jobs.cjs': `${definitions}\nmodule.exports = { app, memory };`,
      'longshore.config.mts': `import jobs from './jobs.cjs';
        export const { app } = jobs;
        export const backend = () => jobs.memory();`,
    });
    expect((await runCli(cwd, 'status --json')).code).toBe(0);
  });
});

describe('the config', () => {
  it.each(configNames)('may be called %s', async (name) => {
    const folder = project({ [name]: shopConfig });
    expect(await json(folder, ['schedule', 'list'])).toMatchObject({
      code: 0,
      data: { schedules: [{ name: 'hourly' }] },
    });
  });

  it('is the first of its names, and --config names any other', async () => {
    const other = shopConfig.replace('hourly', 'other');
    const folder = project({
      'longshore.config.ts': shopConfig,
      'longshore.config.mjs': other,
      'etc/ours.ts': other,
    });
    const name = async (...more: string[]) =>
      (await json(folder, ['schedule', 'list', ...more])).data?.schedules as unknown;
    expect(await name()).toMatchObject([{ name: 'hourly' }]);
    expect(await name('--config', 'longshore.config.mjs')).toMatchObject([{ name: 'other' }]);
    expect(await name('--config', join(folder, 'etc/ours.ts'))).toMatchObject([{ name: 'other' }]);
  });

  it('is the one that LONGSHORE_CONFIG names, unless --config names another', async () => {
    const folder = project({
      'longshore.config.ts': shopConfig,
      'etc/ours.ts': shopConfig.replace('hourly', 'ours'),
    });
    const named = async (path: string, ...more: string[]) =>
      json(folder, ['schedule', 'list', ...more], { env: { LONGSHORE_CONFIG: path } });
    for (const path of ['etc/ours.ts', join(folder, 'etc/ours.ts')])
      expect(await named(path)).toMatchObject({ data: { schedules: [{ name: 'ours' }] } });
    for (const [path, ...more] of [[''], ['etc/ours.ts', '--config', 'longshore.config.ts']] as const)
      expect(await named(path, ...more)).toMatchObject({ data: { schedules: [{ name: 'hourly' }] } });
    expect(await named('gone.ts')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/There is no file .*gone\.ts\. Correct LONGSHORE_CONFIG\./),
    });
    expect(await named('etc')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Expected LONGSHORE_CONFIG to name a \.ts/),
    });
  });

  it('is missed with a sentence that shows one', async () => {
    const { code, stderr } = await cli(project({}), ['status']);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^CONFIG: No longshore\.config\.ts \(\.mts, \.cts, \.js, \.mjs, \.cjs\) in .*createApp.*sqlite\('jobs\.db'\)/,
    );
  });

  it('opens its backend only for commands that need it', async () => {
    const folder = project();
    for (const argv of [
      ['schedule', 'list'],
      ['keys', 'list'],
      ['keys', 'new'],
      ['--help'],
      ['status', '--help'],
    ])
      expect((await cli(folder, argv)).code).toBe(0);
    expect(existsSync(join(folder, 'jobs.db'))).toBe(false);
    await cli(folder, ['status']);
    expect(existsSync(join(folder, 'jobs.db'))).toBe(true);
  });

  it('may give a backend, a promise or a function, and a store', async () => {
    const stores = `export const { stores: store } = memory();`;
    for (const backend of ['memory()', 'Promise.resolve(memory())', 'async () => memory()']) {
      const folder = project({
        'longshore.config.ts': `${imports}${app} export { app }; export const backend = ${backend}; ${stores}`,
      });
      expect(await json(folder, ['status'])).toMatchObject({ code: 0, data: { backend: 'memory' } });
    }
  });
});

describe('a backend without administration', () => {
  const bare = `${imports}${app} export { app };
    export const backend = () => { const { admin, ...rest } = memory(); return { ...rest, name: 'broker' }; };`;

  it.each([
    ['status', 'tell the state of its queues'],
    ['pause default', 'pause a queue'],
    ['clear default --yes', 'clear a queue'],
    ['dead list', 'list or settle dead letters'],
    ['dead retry --all', 'list or settle dead letters'],
  ])('says so at `%s`', async (line, what) => {
    const { code, stderr } = await cli(project({ 'longshore.config.ts': bare }), line.split(' '));
    expect(code).toBe(1);
    expect(stderr).toBe(
      `UNSUPPORTED: Backend "broker" cannot ${what}: it offers no administration. Use the broker's own tools.\n`,
    );
  });

  it.each(['jobs list', 'reap', 'purge', 'workers', 'tick', 'migrate', 'work --drain'])(
    'does `%s`',
    async (line) => {
      expect(await json(project({ 'longshore.config.ts': bare }), line.split(' '))).toMatchObject({
        code: 0,
        stderr: '',
      });
    },
  );

  it('is healthy as far as it tells', async () => {
    const { code, data } = await json(project({ 'longshore.config.ts': bare }), [
      'health',
      '--min-workers',
      '0',
    ]);
    expect({ code, healthy: data?.healthy }).toEqual({ code: 0, healthy: true });
    expect(data?.checks).toContainEqual({
      name: 'age',
      ok: null,
      detail: 'broker does not report how long jobs wait',
    });
  });
});
