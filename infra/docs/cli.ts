/**
 * `npm run docs:cli`: writes the help of all commands into docs/cli.md. Hand-written text stays: the text around the list of commands, and in
 * each command everything from its first JSON object on.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { commands } from '../../local/cli/commands/index.ts';
import type { Command, Flag } from '../../local/cli/definition.ts';

const page = resolve(import.meta.dirname, '../../docs/cli.md');
const heading = '### longshore ';
const width = 110;

/** The page with the current help of every command. */
export function withCommands(text: string): string {
  const [before = ''] = text.split(/^## Commands$/m);
  const sections = text.split(/^(?=### longshore )/m).slice(1);
  const written = new Map(sections.map((section) => [firstLine(section), byHand(section)]));
  const list = commands.map(
    ({ path, summary }) => `- [${path}](#longshore-${path.replace(' ', '-')}): ${summary}`,
  );
  const parts = commands.map((command) => `${described(command)}\n\n${written.get(command.path) ?? ''}`);
  const all = [before, '## Commands', list.join('\n'), ...parts];
  return `${all.map((part) => part.trimEnd()).join('\n\n')}\n`;
}

const firstLine = (section: string): string => section.slice(heading.length, section.indexOf('\n'));

function byHand(section: string): string {
  const at = section.search(/^```json$/m);
  return at < 0 ? '' : section.slice(at);
}

function described({ path, summary, about, args, examples, flags, exits }: Command): string {
  const rows = [
    ...args.map(({ name, text }) => row(`\`${name}\``, text)),
    ...Object.values<Flag>(flags).map((flag) => row(`\`${flag.flags}\``, flag.text + fallbackOf(flag))),
    ...Object.entries(exits).map(([code, meaning]) => row(`exit code ${code}`, meaning)),
  ];
  return [
    `${heading}${path}`,
    wrapped(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`),
    `\`\`\`sh\n${examples.join('\n')}\n\`\`\``,
    ...(about === '' ? [] : [wrapped(prose(about))]),
    ...(rows.length === 0 ? [] : [`| | |\n|---|---|\n${rows.join('\n')}`]),
    'With `--json` it prints:',
  ].join('\n\n');
}

/** Pages become links; `<path>` stays text. */
const prose = (about: string): string =>
  about.replace(/docs\/(\w+)\.md/g, '[$1]($1.md)').replaceAll('<', '\\<');

const row = (name: string, text: string): string => `| ${name} | ${text.replaceAll('|', '\\|')} |`;

function fallbackOf({ fallback, fallbackText }: Flag): string {
  return fallback === undefined ? '' : ` (default ${fallbackText ?? String(fallback)})`;
}

function wrapped(text: string): string {
  const lines = [''];
  for (const word of text.split(' ')) {
    const line = lines.at(-1)!;
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.join('\n');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(page, withCommands(readFileSync(page, 'utf8')));
}
