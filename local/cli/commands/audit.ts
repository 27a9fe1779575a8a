import type { AuditEntry } from '../../../core/contract/derived/audit.ts';
import { given } from '../config/values.ts';
import { defineCommand, someAway } from '../definition.ts';
import { type Column, count, number, type Style, type Under, when } from '../output/ui.ts';
import { listed } from './perform.ts';
import { backendColumn } from './running-jobs.ts';
import { pageFlags } from './select-jobs.ts';

export const audit = defineCommand({
  path: 'audit',
  summary: 'list the actions of operators on jobs, queues, schedules and workers',
  about:
    'Newest first. Each action has two entries: one before it begins, and one when it is done or has failed. The actor is the user of this machine, or LONGSHORE_ACTOR.',
  flags: pageFlags,
  examples: ['longshore audit', 'longshore audit --max 200 --json'],
  exits: { 1: someAway },
  async run(input) {
    const { flags, session, ui } = input;
    const operator = await session.operator();
    const page = await operator.audit(given(flags));
    const { entries, next } = page;
    const more = next === null ? '.' : `, and older ones: the same with --after ${next}`;
    const shown = [...backendColumn(entries), ...columns];
    const text =
      entries.length > 0
        ? `${ui.table(entries, shown, under)}\n\n${count(entries.length, 'line')}${more}`
        : 'The audit log is empty.';
    return listed(input, { ...page }, text);
  },
});

const styles: Readonly<Partial<Record<AuditEntry['phase'], Style>>> = { failed: 'red', done: 'green' };

const columns: readonly Column<AuditEntry>[] = [
  { title: 'when', value: (row) => when(row.at), whole: true },
  { title: 'who', value: (row) => row.actor },
  { title: 'from', value: (row) => row.from },
  { title: 'action', value: (row) => row.action },
  { title: 'state', value: (row) => row.phase, style: (row) => styles[row.phase] ?? null },
  { title: 'changed', align: 'right', value: (row) => (row.count === null ? '' : number(row.count)) },
];

const under: Under<AuditEntry> = {
  text: ({ target, note }) => (note === null ? target : `${target}: ${note}`),
  style: () => 'dim',
};
