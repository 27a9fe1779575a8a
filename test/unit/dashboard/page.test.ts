/** The dashboard's page as it is shipped: small, and in need of nothing from elsewhere. */

import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { compilePage, type PageFile, sizeOf } from '../../../infra/dashboard/build.ts';
import { repositoryFiles } from '../../kit/files.ts';
import { read } from '../../kit/source-tree.ts';

const mostBytes = 150 * 1024;
let files: readonly PageFile[];
beforeAll(async () => {
  files = await compilePage();
});
const textOf = (ending: string): string =>
  files
    .filter(({ path }) => path.endsWith(ending))
    .map(({ gzip }) => gunzipSync(gzip).toString())
    .join('\n');

describe('the page of the dashboard', () => {
  it('has at most 150 KB, compressed', () => {
    expect(sizeOf(files)).toBeGreaterThan(10_000);
    expect(sizeOf(files)).toBeLessThanOrEqual(mostBytes);
  });

  it('loads its files by relative addresses, wherever it is mounted', () => {
    const addresses = [...textOf('.html').matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address!);
    const paths = files.map(({ path }) => `./${path}`).filter((path) => path !== './index.html');
    expect(addresses.toSorted()).toEqual(paths.toSorted());
  });

  it('has no inline script and no inline style, which its policy would refuse', () => {
    const html = textOf('.html');
    expect(html).not.toMatch(/<style|\sstyle=|\son\w+=|javascript:/i);
    expect([...html.matchAll(/<script\b[^>]*>([^<]*)<\/script>/g)].map(([, code]) => code)).toEqual(['']);
  });

  it('makes no markup and no code of texts', () => {
    const sources = repositoryFiles('infra/dashboard').filter((path) => path.endsWith('.tsx'));
    expect(sources.length).toBeGreaterThan(20);
    expect(sources.filter((path) => /innerHTML|insertAdjacentHTML/i.test(read(path)))).toEqual([]);
    expect(textOf('.js')).not.toMatch(/insertAdjacentHTML|document\.write|\beval\(|new Function/);
    expect(textOf('.css')).not.toMatch(/url\((?!["']?#)|@import/);
  });
});
