/** The rooms of the house: no circles, no crowded folders, no two words for one thing. */

import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  circles,
  files,
  type Import,
  imports,
  importsOf,
  inside,
  read,
  sources,
} from '../../kit/source-tree.ts';

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

/** The rooms of the core from below to above: the first table of CONTRIBUTING.md. A name without a slash is in the folder before it. */
const tower = /\n## The house\n.*?\n\n(?<rows>\|.*?)\n\n/s
  .exec(read('CONTRIBUTING.md'))!
  .groups!.rows!.split('\n')
  .slice(2)
  .flatMap((row) => {
    const [folder = '', ...names] = [...row.split('|')[1]!.matchAll(/`(?<name>[^`]+)`/g)].map(
      ({ groups }) => groups!.name!,
    );
    if (names.some((name) => name.includes('/'))) return [folder, ...names];
    return names.length === 0 ? [folder] : names.map((name) => posix.join(folder, name));
  })
  .map((room) => room.replace(/\/$/, ''));
const levelOf = (path: string): number =>
  tower.findIndex((room) => path === room || path.startsWith(`${room}/`));

/** The highest room of the core that a part outside of it may import. The first line that fits holds. */
const ceilings: readonly (readonly [part: RegExp, room: string])[] = [
  [/^local\/backends\/sync\.ts$/, 'core/kernel/flow.ts'],
  [/^local\/(backends|outbox|simulate)\//, 'core/kit'],
  [/^local\/move\//, 'core/features/alerts'],
  [/^functions\/aws\/(dynamo|s3|sqs)\//, 'core/kit'],
  [/^functions\/azure\/(blob|service-bus|storage|table)\//, 'core/kit'],
  [/^(functions|infra|local)\//, 'core/index.ts'],
];
const highestOf = (path: string): number =>
  inside('core')(path)
    ? levelOf(path)
    : tower.indexOf(ceilings.find(([part]) => part.test(path))?.[1] ?? 'core/index.ts');

const climbs = ({ from, to }: Pick<Import, 'from' | 'to'>): boolean =>
  inside('core')(to) && levelOf(to) > highestOf(from);

describe('arrows', () => {
  const product = files.filter((path) => /^(core|functions|infra|local)\/.*\.m?tsx?$/.test(path));
  const edges = product.flatMap((path) => importsOf(path, read(path)));

  it('have a room at each end, and each room has files', () => {
    const own = files.filter((path) => inside('core')(path) && /\.ts$/.test(path));
    expect(own.filter((path) => levelOf(path) === -1)).toEqual([]);
    expect(tower.filter((_, level) => !own.some((path) => levelOf(path) === level))).toEqual([]);
    expect(ceilings.filter(([, room]) => !tower.includes(room))).toEqual([]);
  });

  it('are understood by this test', () => {
    const text =
      "import type { App } from '../kernel/app/app.ts';\nconst a = import('../kernel/flow.ts');\nimport '../base/json.ts';\ntype B = typeof import('../index.ts');";
    expect(importsOf('core/kit/x.ts', text).filter(climbs)).toHaveLength(3);
    expect(climbs({ from: 'core/features/batches/x.ts', to: 'core/features/steps/y.ts' })).toBe(false);
    expect(climbs({ from: 'core/features/steps/y.ts', to: 'core/features/batches/x.ts' })).toBe(true);
    expect(climbs({ from: 'local/backends/redis/x.ts', to: 'core/kernel/app/app.ts' })).toBe(true);
  });

  it('run down', () => {
    expect(edges.filter(climbs).map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  it('from the page in the browser to the core are types', () => {
    const offences = edges.filter(
      ({ from, to, typeOnly }) => inside('infra/dashboard')(from) && inside('core')(to) && !typeOnly,
    );
    expect(offences.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
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
