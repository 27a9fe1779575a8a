/** docs/cli.md, the help and what the commands really print agree. */

import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withCommands } from '../../../infra/docs/cli.ts';
import { commands } from '../../../local/cli/commands/index.ts';
import { exitsOf, type Flag } from '../../../local/cli/definition.ts';
import { cliCodes } from '../../../local/cli/errors.ts';
import { cli, json, project } from './kit.ts';
import { docs, keysOf, type Told, tellStory } from './story.ts';

const page = docs();
const sections = new Map(
  page
    .split(/^### longshore /m)
    .slice(1)
    .map((text) => [text.slice(0, text.indexOf('\n')), text]),
);
const sectionOf = (path: string): string => sections.get(path) ?? '';
const blocks = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\n\`\`\``, 'gs'))].map(([, block]) => block!);

const paths = commands.map(({ path }) => path);
const byPath = new Map(commands.map((command) => [command.path, command]));

let told: readonly Told[] = [];
let folder = '';
beforeAll(async () => {
  ({ told, folder } = await tellStory());
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('docs/cli.md', () => {
  it('is what `npm run docs:cli` writes, so arguments, flags, examples and exit codes are those of the help', () => {
    expect(withCommands(page), 'npm run docs:cli writes it').toBe(page);
    const listed = [...page.matchAll(/^### longshore (.*)$/gm)].map(([, path]) => path);
    expect(listed).toEqual(paths);
  });

  it('would differ for a flag that the page does not have', () => {
    expect(withCommands(page.replace('| `--drain` |', '| `--drained` |'))).toBe(page);
  });

  it.each(paths)('shows the object that %s prints', (path) => {
    const shown = blocks(sectionOf(path), 'json').map((block) => JSON.parse(block));
    const documented = [...new Set(shown.flatMap((data) => keysOf(data)))];
    expect(documented.length).toBeGreaterThan(0);
    const printed = told.filter((one) => one.path === path);
    expect(printed.length).toBeGreaterThan(0);
    // Every object has the documented members; those inside a list or a null only where there is one.
    const found = new Set(printed.flatMap(({ data }) => keysOf(data)));
    expect([...found].filter((key) => !documented.includes(key))).toEqual([]);
    expect(documented.filter((key) => !found.has(key))).toEqual([]);
    const top = documented.filter((key) => !/[.[]/.test(key));
    for (const { data } of printed) expect(top).toEqual(expect.arrayContaining(Object.keys(data)));
  });

  it('explains every code of its own', () => {
    const listed = [...page.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, code]) => code);
    expect(listed).toEqual([...cliCodes]);
  });
});

describe('--json', () => {
  it('prints one object and nothing else, whatever the command', () => {
    expect(told.filter(({ stderr }) => stderr !== '')).toEqual([]);
    expect(new Set(told.map(({ path }) => path))).toEqual(new Set(paths));
    const typeOf = (data: unknown): string => (Array.isArray(data) ? 'array' : typeof data);
    expect(told.filter(({ data }) => typeOf(data) !== 'object')).toEqual([]);
  });

  it('ends a told command with the code of what happened', () => {
    const codes = told.filter(({ code }) => code !== 0).map(({ argv, code }) => `${argv.join(' ')}: ${code}`);
    expect(codes).toEqual([
      'work --drain --no-schedules: 1',
      'work --once --no-schedules: 3',
      'work --drain --no-schedules: 1',
      'doctor: 1',
      'check --backend servicebus: 1',
    ]);
  });

  it('never prints a key or a stack, but for the one that was asked for', () => {
    const asked = ['keys new', 'dead show', 'jobs show'];
    const others = JSON.stringify(told.filter(({ path }) => !asked.includes(path)));
    expect(others).not.toContain(Buffer.alloc(32, 7).toString('base64'));
    expect(others).not.toMatch(/"stack"|\\n {4}at /);
  });
});

describe('--help', () => {
  it.each(paths)('of %s teaches', async (path) => {
    const { code, stdout, stderr } = await cli(project({}), [...path.split(' '), '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { summary, examples, flags } = byPath.get(path)!;
    expect(stdout).toMatch(new RegExp(`^Usage: longshore ${path}`));
    expect(stdout).toContain(summary);
    for (const example of examples) expect(stdout).toContain(`  $ ${example}`);
    for (const flag of Object.values<Flag>(flags)) expect(stdout).toContain(flag.flags.split(' ')[0]);
    for (const code of Object.keys(exitsOf(byPath.get(path)!)))
      expect(stdout).toMatch(new RegExp(`^  ${code}  `, 'm'));
    for (const flag of ['--json', '--config', '--no-color']) expect(stdout).toContain(flag);
  });

  it('has examples that name a command of the table', () => {
    const named = commands.flatMap(({ path, examples }) =>
      examples.map((example) => [path, example] as const),
    );
    expect(named.filter(([path, example]) => !example.includes(`longshore ${path}`))).toEqual([]);
  });

  it.each([['--help'], ['help'], ['-h'], ['jobs --help'], ['help jobs'], ['--version'], ['-V']])(
    'and its like work without a config: %s',
    async (line) => {
      expect(await cli(project({}), line.split(' '))).toMatchObject({ code: 0, stderr: '' });
    },
  );

  it('has flags whose names are those of the code', async () => {
    for (const { flags } of commands) {
      const names = Object.values<Flag>(flags).map(({ flags: text }) =>
        text
          .replace(/^--(no-)?/, '')
          .replace(/ .*/, '')
          .replace(/-(\w)/g, (_, letter) => letter.toUpperCase()),
      );
      expect(names).toEqual(Object.keys(flags));
    }
  });
});

describe('what people see', () => {
  it('is a table without control characters', async () => {
    const cwd = project();
    const send = (to: string) => json(cwd, ['enqueue', 'mail.send', JSON.stringify({ to })]);
    const { data } = await send('nobody');
    await send('later');
    await cli(cwd, ['enqueue', 'greet', '{"name":"Ada"}', '--delay', '90m']);
    const drained = await cli(cwd, ['work', '--drain', '--log', 'pretty', '--no-schedules']);
    expect(drained.code).toBe(1);
    expect(drained.stdout).toMatch(/✗ mail\.send +dead-lettered \(permanent\): no such +address\n/);
    expect(drained.stdout).toMatch(/↻ mail\.send +attempt 1, again in \d+ s: down for maintenance\n/);
    expect(drained.stdout).toMatch(/2 runs in .*, 1 dead letter \(longshore dead list\)\.\n$/);
    const id = String(data!.id);
    for (const line of ['dead list', `dead show ${id}`, `jobs show ${id}`, 'jobs list', 'status']) {
      const { stdout, code } = await cli(cwd, line.split(' '));
      expect(code).toBe(0);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what it is about
      expect(stdout, line).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
      expect(stdout, line).toMatch(/mail/);
    }
    expect((await cli(cwd, ['jobs', 'list'])).stdout).toMatch(/greet +default +pending +0 .* in 90 min\n/);
    expect((await cli(cwd, ['status'])).stdout).toMatch(/^queue +ready .*\ndefault +0 +1 +0 +0 +-\nmail /);
  });

  it('is cut to the terminal, and coloured there unless somebody objects', async () => {
    const cwd = project();
    await cli(cwd, ['enqueue', 'mail.send', '{"to":"nobody"}']);
    await cli(cwd, ['work', '--drain', '--no-schedules']);
    const { stdout } = await cli(cwd, ['dead', 'list'], { isTTY: true, columns: 100 });
    expect(stdout).toContain('\u001b[31m');
    const widths = (text: string): number[] =>
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no room
      text.split('\n').map((line) => line.replace(/\u001b\[\d+m/g, '').length);
    expect(Math.max(...widths(stdout))).toBeLessThanOrEqual(100);
    for (const around of [{ isTTY: false }, { isTTY: true, env: { NO_COLOR: '1' } }]) {
      expect((await cli(cwd, ['dead', 'list'], around)).stdout).not.toContain('\u001b');
    }
    expect((await cli(cwd, ['dead', 'list', '--no-color'], { isTTY: true })).stdout).not.toContain('\u001b');
  });
});
