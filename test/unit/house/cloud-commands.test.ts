/** The command lines for the clouds that the pages print: that each program has such a command with such flags. */

import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cloudCommands, commandsIn, flagsOf, nameOf } from './cloud-commands.ts';

interface Option {
  readonly shortcut?: string;
  readonly required?: boolean;
}

const root = resolve(import.meta.dirname, '../../..');
const pages = ['README.md', ...['docs', 'infra/aws'].flatMap(pagesIn)];

function pagesIn(folder: string): string[] {
  return readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
}

/** osls says itself what it takes. */
const ofOsls: ReadonlyMap<string, { readonly options: Readonly<Record<string, Option>> }> = createRequire(
  import.meta.url,
)('osls/lib/cli/commands-schema/aws-service.js');

const commands = new Map(Object.entries(cloudCommands));
for (const [name, { options }] of ofOsls) {
  const entries = Object.entries(options);
  const flags = entries.flatMap(([flag, { shortcut }]) => [
    `--${flag}`,
    ...(shortcut ? [`-${shortcut}`] : []),
  ]);
  const needs = entries.filter(([, { required }]) => required).map(([flag]) => `--${flag}`);
  if (name) commands.set(`osls ${name}`, { flags, needs });
}

const clouds = ['aws', 'az', 'func', 'osls'];
const printed = pages.flatMap((page) =>
  [...readFileSync(join(root, page), 'utf8').matchAll(/^```sh[^\n]*\n(.*?)^```$/gms)]
    .flatMap(([, script]) => commandsIn(script!))
    .filter(([program, verb]) => clouds.includes(program!) || (program === 'npm' && verb === 'install'))
    .map((words) => ({ page, words, line: words.join(' ') })),
);

/** What is wrong with a command line; empty when nothing is. */
function problemsOf(words: readonly string[]): string[] {
  const name = nameOf(words, [...commands.keys()]);
  if (name === undefined) return ['is no command that is known'];
  const { flags, needs = [] } = commands.get(name)!;
  const given = flagsOf(words);
  return [
    ...given.filter((flag) => !flags.includes(flag)).map((flag) => `has no ${flag}`),
    ...needs.filter((flag) => !given.includes(flag)).map((flag) => `needs ${flag}`),
  ];
}

describe('the command lines for the clouds', () => {
  it.each(printed)('$page: $line', ({ words }) => {
    expect(problemsOf(words)).toEqual([]);
  });

  it('are found on the pages', () => {
    const programs = new Set(printed.map(({ words }) => words[0]));
    expect([...programs].sort()).toEqual([...clouds, 'npm'].sort());
  });

  it('are read as a shell reads them', () => {
    const script = `cd dist && A=1 npx osls deploy \\\n  --stage prod # not here\naz group create -n "a b" key="k1:$(openssl rand -base64 32)"`;
    expect(commandsIn(script)).toEqual([
      ['cd', 'dist'],
      ['osls', 'deploy', '--stage', 'prod'],
      ['az', 'group', 'create', '-n', '"a b"', 'key="k1:$(openssl rand -base64 32)"'],
    ]);
  });

  it('are refused with a flag that the program does not have, or without one that it needs', () => {
    expect(problemsOf(['osls', 'deploy', '--stgae=prod'])).toEqual(['has no --stgae']);
    expect(problemsOf(['func', 'azure', 'functionapp', 'publish', 'x'])).toEqual(['needs --javascript']);
    expect(problemsOf(['az', 'group', 'delete', '-n', 'x'])).toEqual(['is no command that is known']);
  });
});
