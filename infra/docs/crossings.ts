/** `npm run docs:crossings`: writes docs/crossings.md from what each feature says of each event. The build of the dashboard's page takes the same. */

import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { crossings } from '../../core/features/all-crossings.ts';
import { type Crossing, type Crossings, events, nothingOfItsOwn } from '../../core/features/crossings.ts';

/** A feature as the dashboard's page shows it. */
export interface CrossedFeature {
  readonly title: string;
  readonly on: readonly { readonly event: string; readonly means: string }[];
}

const all: readonly Crossings[] = Object.values(crossings);

/** Without the events that a feature has no answer of its own to. */
export const crossedFeatures = (): readonly CrossedFeature[] =>
  all.map(({ title, on }) => ({ title, on: answersIn(on) }));

const answersIn = (on: Crossings['on']): CrossedFeature['on'] =>
  Object.entries(on)
    .filter(([, answer]) => answer !== nothingOfItsOwn)
    .map(([event, answer]) => ({ event, means: textOf(answer) }));

const textOf = (answer: Crossing): string =>
  typeof answer === 'string' ? answer : `Refused with \`${answer.refuses}\`. ${answer.means}`;

export function crossingsPage(): string {
  const rows = Object.entries(events).map(([event, meaning]) => row(event, meaning));
  return [
    '# What happens to a feature when …',
    'How each event affects each feature. `npm run docs:crossings` writes this page from `core/features/*/crossings.ts`. The page *Capabilities* of the\n[dashboard](dashboard.md) shows the same.',
    all.map(({ title }) => `- [${title}](#${anchorOf(title)})`).join('\n'),
    '## Events',
    table('event', 'happens when', rows),
    ...all.flatMap(section),
  ]
    .join('\n\n')
    .concat('\n');
}

function section({ title, page, on }: Crossings): string[] {
  const rest = Object.entries(on).flatMap(([event, answer]) => (answer === nothingOfItsOwn ? [event] : []));
  return [
    `## ${title}`,
    `See [${page}](${page}.md).`,
    table(
      'event',
      'what happens',
      answersIn(on).map(({ event, means }) => row(event, means)),
    ),
    ...(rest.length === 0 ? [] : [`${capital(nothingOfItsOwn)}. This holds for ${rest.join(', ')}.`]),
  ];
}

const table = (left: string, right: string, rows: readonly string[]): string =>
  `| ${left} | ${right} |\n|---|---|\n${rows.join('\n')}`;

const row = (left: string, right: string): string => `| ${left} | ${right.replaceAll('|', '\\|')} |`;

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const anchorOf = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .replaceAll(/\s/g, '-');

if (import.meta.main) {
  writeFileSync(resolve(import.meta.dirname, '../../docs/crossings.md'), crossingsPage());
}
