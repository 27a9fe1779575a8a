/** docs/errors.md and the code know the same errors, and none of them is invented. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { errorCodes } from '../../../core/base/error-codes.ts';
import { repositoryFiles } from '../../kit/files.ts';

const root = resolve(import.meta.dirname, '../../..');
const page = readFileSync(join(root, 'docs/errors.md'), 'utf8');
const sections = new Map(
  page
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.slice(0, section.indexOf('\n')).trim(), section]),
);

/** What the shipped code says, without comments and without the list of codes itself. */
const code = repositoryFiles('core', 'local', 'functions')
  .filter((path) => path.endsWith('.ts'))
  .map((path) => readFileSync(join(root, path), 'utf8'))
  .join('\n')
  .replace(/export const errorCodes = \[[^\]]*\]/, '')
  .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');

/** A code where an error is made; a place that only compares it does not raise it. */
const raised = (name: string): boolean => new RegExp(`(?<![=!]==? ?|case )'${name}'`).test(code);

describe('docs/errors.md', () => {
  it('has a section for every code, in the order of the code, and no other', () => {
    expect([...sections.keys()]).toEqual([...errorCodes]);
  });

  it.each([...sections])('says of %s what it means, where it comes from and what to do', (_, section) => {
    const parts = [...section.matchAll(/^- (\w+): \S.{20,}/gm)].map(([, part]) => part);
    expect(parts).toEqual(['Meaning', 'Cause', 'Remedy']);
  });
});

describe('the code', () => {
  it.each(errorCodes)('raises %s somewhere', (name) => {
    expect(raised(name)).toBe(true);
  });

  it('is searched by a test that can tell raising from comparing', () => {
    expect(raised('NO_SUCH_CODE')).toBe(false);
    expect(code).not.toContain('export const errorCodes');
  });
});
