/** What features say of events: the page that is made of it, and who reads it. */

import { describe, expect, it } from 'vitest';
import { crossings } from '../../../core/features/all-crossings.ts';
import { events, nothingOfItsOwn } from '../../../core/features/crossings.ts';
import { crossingsPage } from '../../../infra/docs/crossings.ts';
import { importsOf, inside, read, sources } from '../../kit/source-tree.ts';

describe('crossings', () => {
  it('are in docs/crossings.md as the code has them: npm run docs:crossings', () => {
    expect(read('docs/crossings.md')).toBe(crossingsPage());
  });

  it('are loaded by no app: docs, the dashboard’s build and tests alone read them', () => {
    const isCrossings = (path: string) => /^core\/features\/.*crossings\.ts$/.test(path);
    const readers = sources
      .filter((path) => !isCrossings(path) && !inside('test')(path))
      .filter((path) => importsOf(path, read(path)).some(({ to }) => isCrossings(to)));
    expect(readers).toEqual(['infra/docs/crossings.ts']);
  });

  it('are sentences, and the few of each feature that are not its own are said in one way', () => {
    for (const { title, on } of Object.values(crossings)) {
      const answers = Object.values(on).map((answer) => (typeof answer === 'string' ? answer : answer.means));
      const own = answers.filter((answer) => answer !== nothingOfItsOwn);
      expect(own.filter((answer) => !/^[A-Z`].*\.$/s.test(answer))).toEqual([]);
      expect(own.length, title).toBeGreaterThan(0);
      expect(answers.length, title).toBe(Object.keys(events).length);
    }
  });
});
