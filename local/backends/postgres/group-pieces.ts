/** SQL that the functions and statements for groups share. */

import { GroupState } from '../shared/groups.ts';

/** Hides a state from the planner. If it knows the state, it may read all rows of the queue that are not in line, by `grouped_busy`. */
export const unknown = (state: number): string => `(SELECT ${state}::smallint)`;

/** Groups share locks: a lock per group would have to be created and removed with the group. */
export const locks = 1024;
export const lockOf = (queue: string, name: string): string =>
  `hashtext(${queue} || ' ' || ${name}) & ${locks - 1}`;

/** Whether any queue has had a group. */
export const anyGroups = (s: string): string => `EXISTS (SELECT FROM ${s}.queues n WHERE n.grouped)`;

/** Whether the next job of the group may become the head when this job ends. */
export const mayFollow = (g: string): string =>
  `(${g}.state <> ${GroupState.leased} OR ${g}.ordering IS NOT NULL)`;

/** Selects the groups of these rows, each once, into `queues`, `names` and `entered`. */
export const groupsOf = (rows: string, where = ''): string => `
    SELECT array_agg(g.queue), array_agg(g.name), array_agg(g.entered_at) INTO queues, names, entered FROM (
      SELECT queue, name, max(entered_at) AS entered_at FROM ${rows} ${where} GROUP BY queue, name) g`;

/** The group of a job as JSON; NULL = no group. */
export const groupingOf = (s: string, id: string): string =>
  `(SELECT json_build_object('group', g.name, 'order', g.ordering)::text FROM ${s}.grouped g WHERE g.id = ${id})`;

export const cameSetting = 'longshore.came_forward';

/** Queues in which a job became the head of its group in this transaction, separated by spaces; NULL or '' = none. */
export const cameForward = `current_setting('${cameSetting}', true)`;

/** Selects the answer of a call, and the queues in which it made jobs the heads of their groups. */
export const thenCame = (call: string): string =>
  `SELECT c.answer, ${cameForward} FROM (SELECT ${call} AS answer OFFSET 0) c`;

/** The names of these queues. @param came the second column of `thenCame` */
export const cameFrom = (came: unknown): string[] => (came ? (came as string).split(' ') : []);
