/** What holds for tests: each belongs to a project, none is left out, and none is about how fast the machine is. */

import { matchesGlob } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projects } from '../../kit/projects.ts';
import { files, inside, read } from '../../kit/source-tree.ts';

const tests = files.filter((path) => path.endsWith('.test.ts') && inside('test')(path));
const patterns = (extent: 'all' | 'quick' | 'rest') =>
  projects(extent).map(({ test }) => ({ include: test!.include!, exclude: test!.exclude! }));
const some = (globs: readonly string[], path: string): boolean =>
  globs.some((glob) => matchesGlob(path, glob));

/** Where a test may say that a machine or a service of others cannot show something. */
const mayLeaveOut: Readonly<Record<string, RegExp>> = {
  'test/unit/jobs/command-ends.test.ts': /it\.runIf\(process\.platform === 'linux'\)/,
  'test/services/aws/bad-input.test.ts': /it\.runIf\(timeIsOurs\)/,
  'test/services/aws/deadline.test.ts': /it\.runIf\(timeIsOurs\)/,
  'test/services/aws/functions.test.ts': /it\.runIf\(timeIsOurs\)/,
  'test/services/aws/meetings.test.ts': /describe\.runIf\(timeIsOurs\)/,
  'test/services/aws/recursion.test.ts': /describe\.runIf\(timeIsOurs\)/,
  'test/services/aws/scheduler.test.ts': /(it|describe)\.runIf\(timeIsOurs\)/,
  'test/services/aws/sqs-details.test.ts': /it\.runIf\(timeIsOurs\)/,
  'test/services/aws/suspects.test.ts': /describe\.runIf\(timeIsOurs\)/,
};

describe('tests', () => {
  it('belong to one project each', () => {
    const owners = tests.map((path) => patterns('all').filter(({ include }) => some(include, path)).length);
    expect(tests.filter((_, i) => owners[i] !== 1)).toEqual([]);
  });

  it('are in npm test or in what it leaves out', () => {
    const runs = (extent: 'quick' | 'rest', path: string) =>
      patterns(extent).some(({ include, exclude }) => some(include, path) && !some(exclude, path));
    expect(tests.filter((path) => !runs('quick', path) && !runs('rest', path))).toEqual([]);
    const globs = patterns('rest').flatMap(({ include }) => include);
    expect(globs.filter((glob) => !tests.some((path) => matchesGlob(path, glob)))).toEqual([]);
  });

  it('are all run, wherever they can be', () => {
    const leaving = /\b(it|test|describe)(\.\w+)*\.(only|skip|todo|skipIf|runIf)\b[^,]*/g;
    const offences = tests.flatMap((path) =>
      [...read(path).matchAll(leaving)]
        .filter(([found]) => !mayLeaveOut[path]?.test(found))
        .map(([found]) => `${path}: ${found}`),
    );
    expect(offences).toEqual([]);
  });

  it('expect nothing of the time that has passed: what they measure belongs to test/bench', () => {
    const clock = /\bexpect\([^;]*?(\b(performance|Date)\.now\(\) - |- (performance|Date)\.now\(\))/g;
    const offences = tests.flatMap((path) =>
      [...read(path).matchAll(clock)].map(([found]) => `${path}: ${found}`),
    );
    expect(offences).toEqual([]);
  });

  it('compare texts with expect.stringMatching(): toMatchObject() takes any text for a pattern', () => {
    const pattern = /\b(code|detail|error|message|remedy|stderr|stdout|text|title): \/(?!\/)/g;
    const offences = tests.flatMap((path) =>
      [...read(path).matchAll(pattern)].map(([found]) => `${path}: ${found}`),
    );
    expect(offences).toEqual([]);
  });
});
