/**
 * `@ts-expect-error` is content with any error. Here the markers are taken out, and the compiler has to report, on
 * exactly the lines below them, exactly the errors that they name.
 */

import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { makeScratch, typecheck } from './check.ts';

const scratch = makeScratch();
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const names = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test-d.ts'));
const sources = new Map(names.map((name) => [name, readFileSync(join(import.meta.dirname, name), 'utf8')]));
const marker = /^\s*\/\/ @ts-expect-error(?: (TS\d+) \S.*)?$/;

/** `file:line code` of every marked line. */
const expected = [...sources].flatMap(([name, text]) =>
  text.split('\n').flatMap((line, i) => {
    const found = marker.exec(line);
    return found ? [`${name}:${i + 2} ${found[1]}`] : [];
  }),
);

describe('the types', () => {
  it('refuse what is wrong, for the reason that is meant, and accept the rest', async () => {
    const bare = new Map([...sources].map(([name, text]) => [name, text.replaceAll('@ts-expect-error', '')]));
    const problems = await typecheck(scratch, bare);
    expect(problems.map(({ file, line, code }) => `${file}:${line} ${code}`).toSorted()).toEqual(
      expected.toSorted(),
    );
  });

  it('are tried with several schema libraries', () => {
    expect(names.toSorted()).toEqual([
      'flows.test-d.ts',
      'middleware.test-d.ts',
      'transactions.test-d.ts',
      'valibot.test-d.ts',
      'zod.test-d.ts',
    ]);
    expect(expected.length).toBeGreaterThan(25);
    expect(expected.filter((line) => line.endsWith('undefined'))).toEqual([]);
  });
});
