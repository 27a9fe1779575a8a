/** Code that is loaded on first use: each `import()` of an own file is a file that a reader has to look for, so their number may only shrink. */

import { expect, it } from 'vitest';
import { read, sources } from '../../kit/source-tree.ts';

const most = 30;
const doorsIn = (text: string): string[] => text.match(/(?<!typeof )\bimport\('\.[^']*'\)/g) ?? [];

it('an import() of a package or of a type is no door', () => {
  expect(doorsIn("import('./a.ts'); import('pg'); type A = typeof import('./b.ts');")).toHaveLength(1);
});

it(`core and functions have at most ${most} doors`, () => {
  const found = sources
    .filter((path) => /^(core|functions)\/.*\.ts$/.test(path))
    .flatMap((path) => doorsIn(read(path)).map((door) => `${path}: ${door}`));
  expect(found.length, found.join('\n')).toBeGreaterThan(10);
  expect(found.length, found.join('\n')).toBeLessThanOrEqual(most);
});
