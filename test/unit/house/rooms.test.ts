/** The rooms of the house: no circles, no crowded folders, no two words for one thing. */

import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { circles, files, imports, inside, read, sources } from '../../kit/source-tree.ts';

/** Without what the test runner puts beside its tests. */
const folders = new Set(
  files
    .map((path) => posix.dirname(path))
    .filter((folder) => folder !== '.' && !folder.endsWith('__snapshots__')),
);
const parts = ['core', 'functions', 'local', 'infra', 'examples', 'test'];
const inHouse = (path: string): boolean => parts.some((part) => path === part || inside(part)(path));
const mostBesideFolders = 8;

describe('rooms', () => {
  it('import one another in no circle, types included', () => {
    expect(circles(imports)).toEqual([]);
  });

  it('are folders without folders, or hold at most 8 files beside them', () => {
    const crowded = [...folders].filter(inHouse).flatMap((folder) => {
      const hasFolders = [...folders].some(inside(folder));
      const own = files.filter((path) => posix.dirname(path) === folder).length;
      return hasFolders && own > mostBesideFolders ? [`${folder}: ${own} files`] : [];
    });
    expect(crowded).toEqual([]);
  });

  it('are not beside a file of nearly the same name', () => {
    const plain = (path: string): string => path.replace(/[^a-z/]/g, '').replace(/s$/, '');
    const names = new Map([...folders].map((folder) => [plain(folder), folder]));
    const twins = sources.flatMap((path) => {
      const twin = names.get(plain(path.replace(/(\.test(-d)?)?\.m?ts$/, '')));
      return twin === undefined ? [] : [`${path} and ${twin}/`];
    });
    expect(twins).toEqual([]);
  });

  it('of the core have nothing at the top but the public names, and in the kernel but the story', () => {
    const at = (folder: string) => files.filter((path) => posix.dirname(path) === folder);
    expect(at('core')).toEqual(['core/index.ts']);
    expect(at('core/kernel')).toEqual(['core/kernel/flow.ts']);
  });

  it('keep the story within 150 lines', () => {
    expect(read('core/kernel/flow.ts').split('\n').length - 1).toBeLessThanOrEqual(150);
  });

  it('have the function of their name in the file of their name', () => {
    expect(read('core/kernel/enqueue/enqueue.ts')).toMatch(/\benqueue\(/);
    expect(read('core/kernel/enqueue/send.ts')).toMatch(/export (async )?function send\(/);
  });
});

/**
 * Each of these words meant several things, or a thing that the field has another word for; the glossary in
 * core/contract/queue.ts has the words to use instead.
 */
const retired = [
  ...['told', 'telling', 'bell', 'ringer', 'placed', 'place', 'places', 'settling', 'redeem', 'redeemed'],
  ...['upkeep', 'renewal', 'due', 'parcel', 'parcels', 'ticket', 'tickets', 'seat', 'seats', 'seating'],
  ...['guest', 'guests', 'uncounted', 'shelf', 'shelves', 'asking', 'joining', 'handover', 'turns'],
  ...['give back', 'given back', 'hand back', 'handed back', 'decline', 'declined'],
];
/** Words that stand for another thing only with the word before them. */
const retiredAlone = [
  'letter',
  'letters',
  'ring',
  'rings',
  'claims',
  'claiming',
  'claimed',
  'moves',
  'notes',
  'line',
];
const allowedBefore: Readonly<Record<string, readonly string[]>> = {
  letter: ['dead'],
  letters: ['dead'],
  ring: ['key'],
  rings: ['key'],
  line: ['event', 'log', 'report'],
};

const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '');

function retiredIn(name: string): string[] {
  const words = wordsOf(name);
  const text = ` ${words.join(' ')} `;
  const found = retired.filter((word) => text.includes(` ${word} `));
  const alone = retiredAlone.filter((word) =>
    words.some((one, i) => one === word && !allowedBefore[word]?.includes(words[i - 1] ?? '')),
  );
  return [...found, ...alone];
}

const product = sources.filter((path) => /^(core|functions|local)\//.test(path));
const exported =
  /^export (?:declare )?(?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type|enum) (?<name>\w+)/gm;

describe('retired words', () => {
  it('are found in names', () => {
    expect(retiredIn('createBell')).toEqual(['bell']);
    expect(retiredIn('dead-letters')).toEqual([]);
    expect(retiredIn('letterOf')).toEqual(['letter']);
    expect(retiredIn('keyRing')).toEqual([]);
    expect(retiredIn('handBack')).toEqual(['hand back']);
  });

  it('are in no name of a file or folder of the product', () => {
    const names = files.filter((path) => /^(core|functions|local)\//.test(path));
    expect(names.flatMap((path) => retiredIn(path).map((word) => `${path}: ${word}`))).toEqual([]);
  });

  it('are in no exported name', () => {
    const offences = product.flatMap((path) =>
      [...read(path).matchAll(exported)].flatMap(({ groups }) =>
        retiredIn(groups!.name!).map((word) => `${path}: ${groups!.name} (${word})`),
      ),
    );
    expect(offences).toEqual([]);
  });
});
