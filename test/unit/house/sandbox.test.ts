/** The sandbox finds the members of contexts in the table of features, and knows none of them by name. */

import { expect, it } from 'vitest';
import { features } from '../../../core/features/table.ts';
import { files, imports, read } from '../../kit/source-tree.ts';

const own = files.filter(
  (path) => path.startsWith('core/features/sandbox/') && !path.endsWith('/crossings.ts'),
);
const others = Object.keys(features).filter((name) => name !== 'sandbox');
const members = Object.values(features).flatMap((feature) =>
  'context' in feature ? Object.keys(feature.context) : [],
);

/** Without comments, and without what is written for people. */
const codeOf = (text: string): string =>
  text
    .replace(/\/\*.*?\*\/|\/\/.*$/gms, '')
    .replace(/`[^`]*`|'[^']* [^']*'/g, '')
    .replace(/events\.emit\(/g, '');

const named = (text: string): string[] =>
  [...others, ...members].filter((name) => new RegExp(`\\b${name}\\b`, 'i').test(codeOf(text)));

it('the check finds names', () => {
  expect(members).toEqual(expect.arrayContaining(['step', 'batch', 'chain', 'tx']));
  expect(named("case 'step': return ctx.batch(a); // chain")).toEqual(['step', 'batch']);
});

it('the sandbox imports no other feature', () => {
  const offences = imports.filter(
    ({ from, to }) => own.includes(from) && others.some((name) => to.startsWith(`core/features/${name}/`)),
  );
  expect(offences.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
});

it('the sandbox names no other feature', () => {
  expect(own.length).toBeGreaterThan(5);
  expect(own.flatMap((path) => named(read(path)).map((name) => `${path}: ${name}`))).toEqual([]);
});
