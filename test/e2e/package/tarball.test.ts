/** What the tarball of the package holds, and what tools and pages of registries say of it. */

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { publint } from 'publint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notesOf } from '../../../infra/release/notes.ts';
import { linked } from '../../../infra/release/papers.ts';
import { shared } from '../../kit/shared/shared.ts';
import { manifest, root, run } from './kit.ts';

let packed = '';
let tarball = '';
let files: readonly string[] = [];
const temporary = mkdtempSync(join(tmpdir(), 'longshore-tarball-'));

beforeAll(async () => {
  ({ folder: packed, tarball, files } = await shared('release'));
}, 200_000); // the release is built first, or another test is building it
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

const read = (file: string): string => readFileSync(join(packed, file), 'utf8');
const published = () => JSON.parse(read('package.json'));

describe('the tarball', () => {
  it('holds the built code, its types, the docs and what one deploys with, and nothing else', () => {
    const papers = ['LICENSE', 'README.md', 'llms.txt', 'package.json'];
    const deployed = [
      'infra/monitoring/grafana-dashboard.json',
      'infra/monitoring/longshore.rules.yml',
      'infra/monitoring/prometheus.yml',
    ];
    expect(files).toEqual(expect.arrayContaining([...papers, ...deployed, 'docs/tutorial.md']));
    const code = /^(core|functions|local|test\/testing|types|shared)\/[\w/-]+\.(js|d\.ts)$/;
    const docs = /^docs\/[\w-]+\.(md|json)$/;
    const known = (file: string) =>
      [...papers, ...deployed].includes(file) || code.test(file) || docs.test(file);
    expect(files.filter((file) => !known(file))).toEqual([]);
  });

  it('is small: what is joined is joined, and no file holds sources', () => {
    expect(files.length).toBeLessThanOrEqual(300);
    const bytes = files.reduce((sum, file) => sum + statSync(join(packed, file)).size, 0);
    expect(bytes).toBeLessThanOrEqual(3_100_000);
  });

  it('tells nothing about the machine it was built on, and no secret', () => {
    const told = ['PRIVATE KEY', '_authToken', `${root}/`, 'longshore-types-'];
    expect(files.filter((file) => told.some((word) => read(file).includes(word)))).toEqual([]);
  });

  it('asks of its users only what it needs at run time', () => {
    const checkoutOnly = ['private', 'scripts', 'allowScripts', 'devDependencies', 'optionalDependencies'];
    expect(
      Object.keys(published()).filter((field) => [...checkoutOnly, 'overrides'].includes(field)),
    ).toEqual([]);
    expect(Object.keys(published().dependencies)).toEqual([
      'cli-progress',
      'commander',
      'croner',
      'pino',
      'srvx',
    ]);
    expect(published().engines).toEqual(manifest.engines);
  });

  it('says whose it is and where its sources, its page and its reports of bugs are', () => {
    const { author, bugs, homepage, keywords, license, repository } = published();
    expect({ author, license }).toEqual({ author: 'Longshore contributors', license: 'MIT' });
    expect(repository.url).toMatch(/^git\+https:\/\/.*\.git$/);
    const page = repository.url.slice('git+'.length, -'.git'.length);
    expect({ bugs, homepage }).toEqual({ bugs: `${page}/issues`, homepage: `${page}#readme` });
    expect(keywords).toContain('background-jobs');
  });

  it('has nothing that publint would complain about', async () => {
    const data = readFileSync(tarball);
    const pack = { tarball: data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) };
    const { messages } = await publint({ pack, level: 'suggestion', strict: true });
    expect(messages).toEqual([]);
  });

  it('has types that are right for every entry', async () => {
    const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
    const options = [tarball, '--profile', 'esm-only', '--no-definitely-typed', '--format', 'json'];
    const printed = await run(process.execPath, [attw, ...options], temporary);
    const { analysis, problems } = JSON.parse(printed);
    // The report names them all; those of require() and of TypeScript before 4.7 are what "ESM only" means.
    const told = Object.values<{ resolutionKind?: string }[]>(problems ?? {}).flat();
    const legacy = ['node10', 'node16-cjs'];
    expect(told.filter(({ resolutionKind = '' }) => !legacy.includes(resolutionKind))).toEqual([]);
    expect(Object.keys(analysis.entrypoints)).toEqual(Object.keys(manifest.exports));
  });
});

describe('the notes of a release', () => {
  const changelog =
    '# Changelog\n\n## 1.2.3 - 2026-12-31\n\n- A thing.\n\n## 1.2.2 - 2026-12-01\n\n- Older.\n';

  it('are the section of its version', () => {
    expect(notesOf('v1.2.3', '1.2.3', changelog)).toBe('- A thing.');
  });

  it.each([
    [
      'a tag of another version',
      'v1.2.2',
      changelog,
      /tag of package\.json's version, v1\.2\.3, got v1\.2\.2/,
    ],
    ['a version without a section', 'v1.2.3', '## Unreleased\n', /to have a section "## 1\.2\.3 - <date>"/],
    [
      'a section without a date',
      'v1.2.3',
      '## 1.2.3 - soon\n',
      /to end with its date, got "## 1\.2\.3 - soon"/,
    ],
  ])('are refused for %s', (_, tag, text, says) => {
    expect(() => notesOf(tag, '1.2.3', text)).toThrow(says);
  });
});

describe('a link in the tarball', () => {
  const linksOf = (text: string): string[] =>
    [...text.matchAll(/\]\((?!mailto:|#)([^)#\s]+)/g)].map(([, to]) => to!);
  const pages = () => files.filter((file) => /\.(md|txt)$/.test(file));

  it('leads to a file in it, or to the repository', () => {
    const missing = pages().flatMap((page) =>
      linksOf(read(page))
        .filter((to) => !/^https?:/.test(to) && !existsSync(join(packed, dirname(page), to)))
        .map((to) => `${page}: ${to}`),
    );
    expect(missing).toEqual([]);
    expect(pages().length).toBeGreaterThan(30);
  });

  it('into the repository leads to a file that is there', () => {
    const tree = `${published().bugs.replace(/\/issues$/, '')}/blob/v${manifest.version}/`;
    const named = pages().flatMap((page) => linksOf(read(page)).filter((to) => to.startsWith(tree)));
    expect(named.length).toBeGreaterThan(50);
    const paths = named.map((to) => to.slice(tree.length).replace(/\?raw=true$/, ''));
    expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('of README is absolute, because a registry shows the page alone', () => {
    expect(linksOf(read('README.md')).filter((to) => !/^https?:/.test(to))).toEqual([]);
  });

  it('of llms.txt names every page of the docs', () => {
    const docs = files.filter((file) => /^docs\/.*\.md$/.test(file));
    expect(linksOf(read('llms.txt')).filter((to) => to.startsWith('docs/'))).toEqual(docs.toSorted());
  });

  it('is rewritten only if its target is not shipped', () => {
    const isShipped = (path: string) => path === 'docs/b.md';
    const text = '[b](b.md#x) [c](../c.md#y) ![p](p.png) [out](https://example.com) [here](#z)';
    expect(linked(text, 'docs/a.md', 'https://host/tree', isShipped)).toBe(
      '[b](b.md#x) [c](https://host/tree/c.md#y) ![p](https://host/tree/docs/p.png?raw=true) [out](https://example.com) [here](#z)',
    );
  });
});
