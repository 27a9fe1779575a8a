/** Writes the files beside the code: README, docs, llms.txt, rules for alerts. */

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { type Manifest, repositoryOf } from './manifest.ts';

/** Copied as they are. */
const copied = ['LICENSE', 'infra/monitoring'];

/** Each command prints its own page, and the other one is a table for those who change features. */
const left = ['cli.md', 'crossings.md'];

export function writePapers(root: string, folder: string, manifest: Manifest): void {
  for (const path of copied) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  const picture = join(folder, 'infra/monitoring/grafana-dashboard.json');
  writeFileSync(picture, JSON.stringify(JSON.parse(readFileSync(picture, 'utf8'))));
  const docs = readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md') && !left.includes(name))
    .map((name) => join('docs', name));
  const isShipped = (path: string): boolean => docs.includes(path) || existsSync(join(folder, path));
  const tree = `${repositoryOf(manifest)}/blob/v${manifest.version}`;
  mkdirSync(join(folder, 'docs'), { recursive: true });
  for (const path of docs)
    writeFileSync(join(folder, path), linked(readFileSync(join(root, path), 'utf8'), path, tree, isShipped));
  const readme = forRegistry(readFileSync(join(root, 'README.md'), 'utf8'));
  // A registry shows this page without the package, so no link of it may be relative.
  writeFileSync(
    join(folder, 'README.md'),
    linked(readme, 'README.md', tree, () => false),
  );
  writeFileSync(join(folder, 'llms.txt'), index(folder, docs, readme));
}

/** Links to what is not shipped lead to the repository, at the tag of this version; pictures to the file itself. */
export function linked(
  text: string,
  path: string,
  tree: string,
  isShipped: (path: string) => boolean,
): string {
  return text.replaceAll(
    /(!?)(\[[^\]]*\])\((?!https?:|mailto:|#)([^)#\s]+)(#[^)\s]*)?\)/g,
    (link, picture: string, label: string, to: string, anchor = '') => {
      const target = normalize(join(dirname(path), to));
      if (isShipped(target)) return link;
      return `${picture}${label}(${tree}/${target}${picture === '' ? anchor : '?raw=true'})`;
    },
  );
}

/** Without what needs a clone: how to try the example, and the scripts of the repository. */
function forRegistry(readme: string): string {
  const sections = readme.split(/^(?=## )/m);
  const needed = ['## Try it', '## Commands'];
  for (const heading of needed)
    if (!sections.some((section) => section.startsWith(`${heading}\n`)))
      throw new Error(`Expected README.md to have a section "${heading}".`);
  return sections
    .map((section) => (section.startsWith('## Try it\n') ? install : section))
    .filter((section) => !section.startsWith('## Commands\n'))
    .join('');
}

const install = `## Install

\`\`\`sh
npm install longshore
\`\`\`

You need Node 22.18 or newer. The driver of your queue comes with it or beside it: \`pg\`, \`@redis/client\`, the SDK of AWS or of Azure;
SQLite needs none. The [tutorial](docs/tutorial.md) starts from an empty folder and takes five minutes.

`;

/** An index of the pages for programs that read them, in the form of llmstxt.org. */
function index(folder: string, docs: readonly string[], readme: string): string {
  const summary = /^# .*\n\n([^#`]+?)\n\n/.exec(readme)?.[1]?.replaceAll('\n', ' ');
  if (summary === undefined) throw new Error('Expected README.md to begin with its title and a summary.');
  const pages = docs.map((path) => {
    const [heading = '', first = ''] = readFileSync(join(folder, path), 'utf8').split('\n\n');
    const title = heading.replace(/^# /, '');
    const about = /^[|#`<!]/.test(first)
      ? undefined
      : first
          .replaceAll('\n', ' ')
          .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
          .split(/(?<=[.:]) /)[0];
    return `- [${title}](${path})${about === undefined ? '' : `: ${about}`}`;
  });
  return `# Longshore\n\n> ${summary}\n\n## Docs\n\n${pages.join('\n')}\n`;
}
