/** Comments are plain English: subject, verb, object. */

import { expect, it } from 'vitest';
import { files, read } from '../../kit/source-tree.ts';

/** A clause as the subject of a sentence: name the thing instead. */
const openings = /(?:^|[.:;!?] )(Of|Those|What|Whoever|As above)\b/g;
/** Name the number or the person instead. */
const riddles = /\b(so many|so long|nobody|whoever|told)\b/gi;
const comments =
  /\/\*\*?(?<block>[\s\S]*?)\*\/|(?<lines>(?:^[ \t]*(?:\/\/|--(?!\[))[^\n]*\n)+)|(?<=[;,{)\]])[ \t]\/\/(?<rest>[^\n]*)/gm;

interface Riddle {
  readonly place: string;
  readonly found: readonly string[];
}

function riddlesIn(path: string, text: string): Riddle[] {
  return [...text.matchAll(comments)].flatMap(({ index, groups = {} }) => {
    const prose = (groups.block ?? groups.lines ?? groups.rest ?? '')
      .replaceAll(/\n\s*(?:\*|\/\/|--)?\s*/g, ' ')
      .replace(/^\s*(?:\/\/|--|\*)?\s*/, '')
      .replaceAll(/`[^`]*`/g, '`x`')
      .trim();
    const found = [...prose.matchAll(openings), ...prose.matchAll(riddles)].map(([hit]) => hit.trim());
    const line = text.slice(0, index).split('\n').length;
    return found.length > 0 ? [{ place: `${path}:${line}`, found }] : [];
  });
}

it('riddles are found', () => {
  const text = [
    '/** What is left. */',
    'const a = 1; // told by nobody',
    '// Keeps the rest',
    '// for so long.',
    '/** The name. */',
    '',
  ].join('\n');
  expect(riddlesIn('a.ts', text)).toEqual([
    { place: 'a.ts:1', found: ['What'] },
    { place: 'a.ts:2', found: ['told', 'nobody'] },
    { place: 'a.ts:3', found: ['so long'] },
  ]);
});

it('are in no comment of the product', () => {
  const product = files.filter((path) =>
    /^(core|functions|local|infra|test\/testing)\/.*\.(tsx?|lua)$/.test(path),
  );
  expect(product.length).toBeGreaterThan(500);
  expect(product.flatMap((path) => riddlesIn(path, read(path)))).toEqual([]);
});
