/** Selections in words, for the audit log. */

import type { DeadLetterFilter, DeadLetterSelection } from './types.ts';

/** So many ids are named. */
const mostIds = 10;

export function selectionText(
  selection: DeadLetterSelection,
  options: Readonly<Record<string, unknown>>,
): string {
  const extras = Object.entries(options)
    .filter(([, value]) => typeof value === 'number')
    .map(([name, value]) => `${name} ${value}`);
  return [wordsOf(selection), ...extras].join(', ');
}

function wordsOf(selection: DeadLetterSelection): string {
  if ('filter' in selection) return filterText(selection.filter);
  const { ids } = selection;
  const more = ids.length > mostIds ? ` and ${ids.length - mostIds} more` : '';
  return `${ids.slice(0, mostIds).join(' ')}${more}`;
}

function filterText({ diedFrom, diedBefore, ...equal }: DeadLetterFilter): string {
  const parts = Object.entries(equal)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  if (diedFrom !== undefined) parts.push(`died from ${new Date(diedFrom).toISOString()}`);
  if (diedBefore !== undefined) parts.push(`died before ${new Date(diedBefore).toISOString()}`);
  return parts.length > 0 ? `all with ${parts.join(', ')}` : 'all';
}
