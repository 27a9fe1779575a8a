import { edit } from './edit.ts';
import { groupsOf } from './groups.ts';
import { look, type Subject, withOwnEntries } from './operation.ts';
import { newestItems, selectedIn } from './select.ts';
import { discard, retry } from './settle.ts';
import { show } from './show.ts';
import type { DeadLetterFilter } from './types.ts';

const letter: Subject = { noun: 'dead letter', parameter: 'id', text: 'id of its job, or how it begins' };

export const deadLetters = {
  page: look({
    summary: 'Dead letters, the newest first',
    run: async (client, asked: DeadLetterFilter, page?: { max?: number; after?: string }) =>
      newestItems(selectedIn(client), asked, page),
  }),
  groups: look({
    summary: 'Dead letters by what they died of',
    run: async (client, asked: DeadLetterFilter, max?: number) => groupsOf(selectedIn(client), asked, max),
  }),
  show: look({ summary: 'A dead letter with all that is known of it', subject: letter, run: show }),
  retry: withOwnEntries({
    action: 'dead.retry',
    summary: 'Make dead letters ready again',
    perform: retry,
    lasts: true,
  }),
  edit: withOwnEntries({
    action: 'dead.edit',
    summary: 'Make a dead letter ready again with another payload',
    subject: letter,
    perform: edit,
  }),
  discard: withOwnEntries({
    action: 'dead.discard',
    summary: 'Remove dead letters for good',
    perform: discard,
    lasts: true,
  }),
};
