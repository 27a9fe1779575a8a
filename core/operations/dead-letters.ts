import { deadLettersOf } from '../kernel/enqueue/admin-of.ts';
import type { Client } from '../kernel/enqueue/client.ts';
import { reasons } from '../kit/records/partitions.ts';
import { edit } from './edit.ts';
import { groupsOf } from './groups.ts';
import { look, type Subject, withOwnEntries } from './operation.ts';
import { pageOfItems } from './select.ts';
import { discard, retry } from './settle.ts';
import { show } from './show.ts';
import type { DeadLetterFilter } from './types.ts';

const letter: Subject = { noun: 'dead letter', parameter: 'id', text: 'id of its job, or how it begins' };

const filter = {
  queue: { kind: 'text', text: 'of this queue' },
  job: { kind: 'text', text: 'of this job' },
  reason: { kind: 'choice', of: reasons, text: 'that died of this' },
  tenantId: { kind: 'text', text: 'of this tenant' },
  error: { kind: 'text', text: 'with this in the error' },
  fingerprint: { kind: 'text', text: 'of this group' },
  diedFrom: { kind: 'moment', text: 'died at this moment or later' },
  diedBefore: { kind: 'moment', text: 'died before this moment' },
} as const;

const selected = (client: Client) => ({ app: client.app, deadLetters: deadLettersOf(client) });

export const deadLetters = {
  page: look({
    summary: 'Dead letters, the newest first',
    input: filter,
    run: async (client, asked: DeadLetterFilter, page?: { max?: number; after?: string }) =>
      pageOfItems(selected(client), asked, page),
  }),
  groups: look({
    summary: 'Dead letters by what they died of',
    input: filter,
    run: async (client, asked: DeadLetterFilter, max?: number) => groupsOf(selected(client), asked, max),
  }),
  show: look({ summary: 'A dead letter with all that is known of it', subject: letter, run: show }),
  retry: withOwnEntries({
    action: 'dead.retry',
    summary: 'Make dead letters ready again',
    input: filter,
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
    input: filter,
    perform: discard,
    lasts: true,
  }),
};
