/** Pieces that the functions and statements for groups share. */

import { GroupState } from '../shared/groups.ts';

/** A state that the planner does not know: to find one of a group it may else read all of the queue that are not in line, by `grouped_busy`. */
export const unknown = (state: number): string => `(SELECT ${state}::smallint)`;

/** Groups share locks: a lock for each would have to be made and removed with it. */
export const locks = 1024;
export const lockOf = (queue: string, name: string): string =>
  `hashtext(${queue} || ' ' || ${name}) & ${locks - 1}`;

/** Whether any queue has had a group. */
export const anyGroups = (s: string): string => `EXISTS (SELECT FROM ${s}.queues n WHERE n.grouped)`;

/** Whether another one of its group may come forward when this job ends. */
export const mayFollow = (g: string): string =>
  `(${g}.state <> ${GroupState.leased} OR ${g}.ordering IS NOT NULL)`;

/** Leaves the groups of these rows in `queues`, `names` and `entered`, each once. */
export const groupsOf = (rows: string, where = ''): string => `
    SELECT array_agg(g.queue), array_agg(g.name), array_agg(g.entered_at) INTO queues, names, entered FROM (
      SELECT queue, name, max(entered_at) AS entered_at FROM ${rows} ${where} GROUP BY queue, name) g`;

/** The group of a job, as JSON; NULL = it has none. */
export const groupingOf = (s: string, id: string): string =>
  `(SELECT json_build_object('group', g.name, 'order', g.ordering)::text FROM ${s}.grouped g WHERE g.id = ${id})`;

export const cameSetting = 'longshore.came_forward';

/** Queues in which a job came forward in this transaction, with spaces between them; NULL or '' = in none. */
export const cameForward = `current_setting('${cameSetting}', true)`;

/** Answers of a function's call, then the queues in which jobs came forward by it. */
export const thenCame = (call: string): string =>
  `SELECT c.answer, ${cameForward} FROM (SELECT ${call} AS answer OFFSET 0) c`;

/** The names of these queues. @param came as `thenCame` answers it */
export const cameFrom = (came: unknown): string[] => (came ? (came as string).split(' ') : []);
