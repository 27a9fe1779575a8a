/** Only the first job of each group, the head, is in `ready`; the others wait in line. All calls are inside a transaction. */

import { type Grouping, GroupState, mostAheadMs } from '../shared/groups.ts';
import type { Database } from './database.ts';
import type { NarrowRow } from './rows.ts';
import { stepSize } from './schema.ts';

/** The most groups that one `heal` looks at; the next call continues after them. */
const mostHealed = 200;

interface GroupedRow {
  readonly seq: number;
  readonly queue: string;
  readonly name: string;
  readonly ordering: Grouping['order'] | null;
  readonly state: number;
  readonly place: number | null;
  readonly entered_at: number;
}

/** A job that is leased directly from the line of its group. */
export interface LinedRow extends Omit<NarrowRow, 'readyAt'> {
  readonly body: string;
  readonly turn: number;
}

/** Inserts into and removes from the narrow tables. */
interface Tables {
  insert(row: NarrowRow, now: number): void;
  remove(row: Pick<NarrowRow, 'seq' | 'queue' | 'rank' | 'readyAt'>): void;
}

export type Groups = ReturnType<typeof createGroups>;

export function createGroups(db: Database, ageingMs: number, tables: Tables) {
  const columns = 'seq, queue, name, ordering, state, place, entered_at';
  const any = db.prepare('SELECT 1 FROM grouped LIMIT 1');
  const add = db.prepare(
    'INSERT INTO grouped (seq, queue, name, ordering, state, place) VALUES (?, ?, ?, ?, ?, ?)',
  );
  const find = db.prepare(`SELECT ${columns} FROM grouped WHERE seq = ?`);
  /** The last place in the line. Without a line, the last place of the other jobs of the group. */
  const ofGroup = 'SELECT max(place) FROM grouped WHERE queue = :queue AND name = :name';
  const lastPlace = db.prepare(
    `SELECT coalesce((${ofGroup} AND state = ${GroupState.inLine}), (${ofGroup}), 0) AS place`,
  );
  const put = db.prepare(`
    UPDATE grouped SET state = ?, place = ?, apart_until = ?, attempt = ?, interrupted = ? WHERE seq = ?`);
  const setAttempt = db.prepare('UPDATE jobs SET attempt = ? WHERE seq = ?');
  const isGroup = 'FROM grouped o WHERE o.queue = g.queue AND o.name = g.name AND o.state =';
  const next = db.prepare(`
    SELECT seq, attempt, interrupted FROM (
      SELECT * FROM grouped WHERE queue = ? AND name = ? AND state = ${GroupState.inLine} ORDER BY place, seq LIMIT 1) g
    WHERE NOT EXISTS (SELECT 1 ${isGroup} ${GroupState.head})
      AND (ordering IS NULL OR NOT EXISTS (SELECT 1 ${isGroup} ${GroupState.leased}))`);
  const head = db.prepare(
    `SELECT 1 FROM grouped WHERE queue = ? AND name = ? AND state = ${GroupState.head} LIMIT 1`,
  );
  const firstInLine = db.prepare(`
    SELECT g.seq, g.queue, g.ordering, j.priority * ${ageingMs} AS ageing, j.body, g.attempt, g.interrupted
    FROM grouped g CROSS JOIN jobs j ON j.seq = g.seq
    WHERE g.queue = ? AND g.name = ? AND g.state = ${GroupState.inLine} ORDER BY g.place, g.seq LIMIT ?`);
  const enter = db.prepare(`UPDATE grouped SET state = ${GroupState.head}, entered_at = ? WHERE seq = ?`);
  const rank = db.prepare(`
    UPDATE jobs SET rank = ? + priority * ${ageingMs} WHERE seq = ? RETURNING rank, ready_at AS readyAt`);
  const lease = db.prepare(`
    UPDATE grouped SET state = ${GroupState.leased}, apart_until = NULL WHERE seq IN (SELECT value FROM json_each(?)) RETURNING ${columns}`);
  const leaveHead = db.prepare(
    `UPDATE grouped SET state = ${GroupState.leased} WHERE seq = ? AND state = ${GroupState.head}`,
  );
  const remove = db.prepare(
    `DELETE FROM grouped WHERE seq IN (SELECT value FROM json_each(?)) RETURNING ${columns}`,
  );
  const overdue = db.prepare(`
    SELECT g.seq, g.queue, j.rank, j.ready_at AS readyAt, g.attempt, g.interrupted FROM grouped g JOIN jobs j ON j.seq = g.seq
    WHERE g.queue = ? AND g.apart_until <= ? ORDER BY g.apart_until, g.seq LIMIT ${stepSize}`);
  const following = db.prepare('SELECT name FROM grouped WHERE queue = ? AND name > ? ORDER BY name LIMIT 1');
  const over = db.prepare(`
    SELECT g.seq FROM grouped g LEFT JOIN jobs j ON j.seq = g.seq
    WHERE g.queue = ? AND g.name = ? AND (j.seq IS NULL OR j.ended IS NOT NULL) LIMIT ${stepSize}`);
  /** The last group of each queue that `heal` has looked at. */
  const healed = new Map<string, string>();

  /** Makes the next job of a group its head, if it may run. Returns whether it did. */
  function advance(queue: string, name: string, enteredAt: number, now: number): boolean {
    const row = next.get(queue, name) as Pick<NarrowRow, 'seq' | 'attempt' | 'interrupted'> | undefined;
    if (!row) return false;
    const readyAt = Math.min(now + mostAheadMs, Math.max(now, enteredAt + 1));
    enter.run(readyAt, row.seq);
    const ranked = rank.get(readyAt, row.seq) as unknown as Pick<NarrowRow, 'rank' | 'readyAt'>;
    tables.insert({ ...row, ...ranked, queue }, now);
    return true;
  }

  /** `advance` for the groups of all these jobs. */
  function advanceAll(rows: readonly GroupedRow[], now: number): boolean {
    const perGroup = new Map(rows.map((row) => [`${row.queue}\n${row.name}`, row]));
    let any = false;
    for (const { queue, name, entered_at } of perGroup.values())
      any = advance(queue, name, entered_at, now) || any;
    return any;
  }

  const leaseRows = (seqs: readonly number[]) => lease.all(JSON.stringify(seqs)) as unknown as GroupedRow[];

  /** The next jobs behind a leased head, up to the first job with an order. They need not become the head first. */
  function followers(
    { queue, name, entered_at, ordering }: GroupedRow,
    most: number,
    now: number,
  ): LinedRow[] {
    if (ordering || head.get(queue, name)) return [];
    type Row = Omit<LinedRow, 'rank' | 'turn'> & Pick<GroupedRow, 'ordering'> & { readonly ageing: number };
    const rows = firstInLine.all(queue, name, most) as unknown as Row[];
    const end = rows.findIndex((row) => row.ordering);
    const from = Math.max(now, entered_at + 1);
    return rows
      .slice(0, end < 0 ? most : end)
      .map((row, turn) => ({ ...row, turn, rank: from + turn + row.ageing }));
  }

  function join(one: GroupedRow, { seq, rank, readyAt, attempt, interrupted }: NarrowRow, now: number): void {
    const { queue, name, ordering } = one;
    const behind = () => (lastPlace.get({ queue, name })!.place as number) + 1;
    const place = one.place ?? (ordering ? Math.max(readyAt, behind()) : rank);
    put.run(GroupState.inLine, place, null, attempt, interrupted, seq);
    if (attempt > 0 || one.place !== null) setAttempt.run(attempt, seq); // no narrow row has it
    advance(queue, name, one.entered_at, now);
  }

  const groups = {
    /** Whether any living job has a group. This query per call is the whole cost of groups for queues without them. */
    isUsed: (): boolean => any.get() !== undefined,
    /** Adds the group of a job that is in no narrow table, before it waits. @param place `null` = by arrival */
    add(
      seq: number,
      queue: string,
      { group, order = undefined }: Grouping,
      place: number | null = null,
    ): void {
      add.run(seq, queue, group, order ?? null, GroupState.leased, place);
    },
    /** Lets a job that is in no narrow table wait. `false` = it has no group. */
    wait(row: NarrowRow, now: number): boolean {
      const one = find.get(row.seq) as GroupedRow | undefined;
      if (!one) return false;
      const { seq, readyAt, attempt, interrupted } = row;
      if (readyAt <= now) join(one, row, now);
      else {
        const { queue, name, ordering, place } = one;
        // The others wait for a job that was leased before, but not for one that was delayed in line.
        const mayHold = one.state === GroupState.leased && ordering === 'wait' && place !== null;
        const isHead = mayHold && head.get(queue, name) === undefined;
        const state = isHead ? GroupState.head : GroupState.apart;
        put.run(state, place, isHead ? null : readyAt, attempt, interrupted, seq);
        tables.insert(row, now);
        advance(queue, name, one.entered_at, now);
      }
      return true;
    },
    /** Marks a head as leased after its narrow row was removed, before it waits again. */
    stepDown: (seq: number): void => void leaveHead.run(seq),
    /** Records that these jobs are leased or held; jobs without a group are ignored. Returns whether other jobs became heads. */
    lease: (seqs: readonly number[], now: number): boolean => advanceAll(leaseRows(seqs), now),
    /**
     * Fast path of `lease` when only these heads are ready: also leases the jobs in line behind each head. Each group gets an equal
     * share of `room`, and the jobs are returned round-robin.
     */
    leaseLines(seqs: readonly number[], room: number, now: number): { lined: LinedRow[]; more: boolean } {
      const heads = leaseRows(seqs);
      const most = Math.floor(room / heads.filter(({ ordering }) => !ordering).length);
      if (!(most > 0)) return { lined: [], more: advanceAll(heads, now) };
      const lines = heads.map((row) => followers(row, most, now));
      const lined = lines.flat().sort((a, b) => a.turn - b.turn || a.rank - b.rank || a.seq - b.seq);
      if (lined.length > 0) leaseRows(lined.map(({ seq }) => seq));
      const entered = (at: number, i: number) => Math.max(now - 1, at) + lines[i]!.length;
      const last = heads.map((row, i) => ({ ...row, entered_at: entered(row.entered_at, i) }));
      return { lined, more: advanceAll(last, now) };
    },
    /** Records that these jobs will not run again; jobs without a group are ignored. */
    end: (seqs: readonly number[], now: number): void =>
      void advanceAll(remove.all(JSON.stringify(seqs)) as unknown as GroupedRow[], now),
    groupingOf(seq: number): Grouping | null {
      const one = find.get(seq) as GroupedRow | undefined;
      return one ? { group: one.name, ...(one.ordering && { order: one.ordering }) } : null;
    },
    /** Puts delayed jobs that are due into the lines of their groups. */
    promote(queue: string, now: number): void {
      for (const row of overdue.all(queue, now) as unknown as NarrowRow[]) {
        tables.remove(row);
        join(find.get(row.seq) as unknown as GroupedRow, row, now);
      }
    },
    /** Makes heads for groups that lack one: a process of an older release, or manual SQL, may have removed the head. */
    heal(queue: string, now: number): void {
      let last = healed.get(queue) ?? '';
      for (let i = 0; i < mostHealed; i++) {
        const name = following.get(queue, last)?.name as string | undefined;
        last = name ?? '';
        if (name === undefined) break;
        remove.all(JSON.stringify(over.all(queue, name).map(({ seq }) => seq)));
        advance(queue, name, 0, now);
      }
      healed.set(queue, last);
    },
  };
  return groups;
}
