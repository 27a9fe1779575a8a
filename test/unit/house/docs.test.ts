/**
 * The code in the documentation: every block marked `ts` has to compile on its own, as a user's file would; every
 * block marked `ts run` is then run.
 */

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { makeScratch, root, typecheck } from '../types/check.ts';

interface Block {
  /** Like `docs/envelope.md:70`, the line of the first line of code. */
  readonly place: string;
  readonly language: string;
  readonly text: string;
}

const inFolder = (folder: string): string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
const pages = ['.', 'docs', 'docs/decisions'].flatMap(inFolder);

function blocksOf(page: string, text: string): Block[] {
  const fence = /^```([^\n]*)\n(.*?)^```$/gms;
  return [...text.matchAll(fence)].map(({ index, 1: language, 2: code }) => ({
    place: `${page}:${text.slice(0, index).split('\n').length + 1}`,
    language: language!.replace(/ file=\S+/, '').trim(),
    text: code!,
  }));
}

const blocks = pages.flatMap((page) => blocksOf(page, readFileSync(join(root, page), 'utf8')));
const typed = blocks.filter(({ language }) => /^ts( run)?$/.test(language));
/** A file whose name tells the place, in a folder of its own. */
const fileOf = ({ place }: Block): string => `${place.replaceAll(/\W+/g, '-')}/block.ts`;

const yourJobs = "import { createApp } from 'longshore';\nexport const app = createApp({ jobs: [] });\n";

const scratch = makeScratch();
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

describe('the code in the documentation', () => {
  it('compiles', { timeout: 120_000 }, async () => {
    const files = new Map(typed.map((block) => [fileOf(block), block.text]));
    // What the pages call "your jobs", for the blocks that import them.
    for (const block of typed) files.set(fileOf(block).replace('block.ts', 'jobs.ts'), yourJobs);
    const problems = await typecheck(scratch, files);
    const told = problems.map(({ file, line, code, message }) => {
      const block = typed.find((one) => fileOf(one) === file);
      return `${block?.place ?? file}, line ${line} of the block: ${code} ${message}`;
    });
    expect(told).toEqual([]);
  });

  const runnable = typed.filter(({ language }) => language === 'ts run');
  it.each(runnable)('$place runs', { timeout: 120_000 }, async (block) => {
    const file = join(scratch, fileOf(block));
    const folder = dirname(file);
    // What the block keeps on disk (a queue, a development key) is kept beside it and goes with it.
    const { NODE_ENV: _, LONGSHORE_SIGNING_KEYS: __, ...env } = process.env;
    const { stderr } = await promisify(execFile)(process.execPath, [file], {
      cwd: folder,
      env,
      timeout: 120_000,
    });
    expect(stderr).toBe('');
  });

  it('is there at all: TypeScript is marked `ts`, and some of it is run', () => {
    const known = [
      'ts',
      'ts run',
      'js',
      'sh',
      'sh run',
      'json',
      'text',
      'mermaid',
      'sql',
      'ini',
      'yaml',
      'html',
    ];
    const unmarked = blocks.filter(({ language }) => !known.includes(language));
    expect(unmarked.map(({ place, language }) => `${place} ${language}`)).toEqual([]);
    expect(runnable.length).toBeGreaterThan(3);
  });

  it('is read by a test that would see an error', { timeout: 120_000 }, async () => {
    const page =
      "Text.\n\n```ts\nimport { defineJob } from 'longshore';\ndefineJob(1);\n```\n\n```ts run\nexport {};\n```\n";
    const found = blocksOf('docs/x.md', page);
    expect(found.map(({ place, language }) => [place, language])).toEqual([
      ['docs/x.md:4', 'ts'],
      ['docs/x.md:9', 'ts run'],
    ]);
    const folder = join(scratch, 'wrong');
    mkdirSync(folder);
    const problems = await typecheck(folder, new Map([['block.ts', found[0]!.text]]));
    expect(problems.map(({ line, code }) => [line, code])).toEqual([[2, 'TS2345']]);
  });
});

/** The anchors that GitHub gives to the headings of a page. */
function anchorsOf(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replace(/^```[^\n]*\n.*?^```$/gms, '');
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe('the links in the documentation', () => {
  it.each(pages)('%s leads only to files that are there', (page) => {
    const text = readFileSync(join(root, page), 'utf8');
    const targets = [...text.matchAll(/\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)/g)].map(
      ([, to]) => to!,
    );
    expect(targets.filter((to) => !existsSync(join(root, dirname(page), to)))).toEqual([]);
  });

  it.each(pages)('%s leads only to headings that are there', (page) => {
    const text = readFileSync(join(root, page), 'utf8');
    const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)#([^)\s]+)\)/g)];
    const missing = links.filter(([, to, anchor]) => {
      const target = to === '' ? page : join(dirname(page), to!);
      return target.endsWith('.md') && existsSync(join(root, target)) && !anchorsOf(target).includes(anchor!);
    });
    expect(missing.map(([link]) => link)).toEqual([]);
  });
});
