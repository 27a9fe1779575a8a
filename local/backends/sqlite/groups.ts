/** Of each group one job stands in `ready`; the others wait in line. All calls are inside a transaction. */

import { type Grouping, GroupState, mostAheadMs } from '../shared/groups.ts';
import type { Database } from './database.ts';
import type { NarrowRow } from './rows.ts';
import { stepSize } from './schema.ts';

/** So many groups are looked at when a queue is reaped; the next call goes on behind them. */
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

/** A job that is leased from its line, behind the head of its group. */
export interface LinedRow extends Omit<NarrowRow, 'readyAt'> {
  readonly body: string;
  readonly turn: number;
}

/** What puts rows into the narrow tables, and takes them out. */
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
  /** With a line it is that of its end; the few others are looked at only without one. */
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
  /** Of each queue the last group that was looked at. */
  const healed = new Map<string, string>();

  /** Lets the next one of a group come forward, if it may. Answers whether one did. */
  function advance(queue: string, name: string, enteredAt: number, now: number): boolean {
    const row = next.get(queue, name) as Pick<NarrowRow, 'seq' | 'attempt' | 'interrupted'> | undefined;
    if (!row) return false;
    const readyAt = Math.min(now + mostAheadMs, Math.max(now, enteredAt + 1));
    enter.run(readyAt, row.seq);
    const ranked = rank.get(readyAt, row.seq) as unknown as Pick<NarrowRow, 'rank' | 'readyAt'>;
    tables.insert({ ...row, ...ranked, queue }, now);
    return true;
  }

  /** In the groups of all these. */
  function advanceAll(rows: readonly GroupedRow[], now: number): boolean {
    const perGroup = new Map(rows.map((row) => [`${row.queue}\n${row.name}`, row]));
    let any = false;
    for (const { queue, name, entered_at } of perGroup.values())
      any = advance(queue, name, entered_at, now) || any;
    return any;
  }

  const leaseRows = (seqs: readonly number[]) => lease.all(JSON.stringify(seqs)) as unknown as GroupedRow[];

  /** Those that come next behind a leased head without making each a head first: up to one that has an order. */
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
    if (attempt > 0 || one.place !== null) setAttempt.run(attempt, seq); // no narrow row tells it
    advance(queue, name, one.entered_at, now);
  }

  const groups = {
    /** Whether any living job has a group: all that queues without groups pay for, once per call. */
    isUsed: (): boolean => any.get() !== undefined,
    /** A job that is in no narrow table, before it waits. @param place `null` = that of its arrival */
    add(
      seq: number,
      queue: string,
      { group, order = undefined }: Grouping,
      place: number | null = null,
    ): void {
      add.run(seq, queue, group, order ?? null, GroupState.leased, place);
    },
    /** A job that is in no narrow table waits from now on. `false` = it has no group. */
    wait(row: NarrowRow, now: number): boolean {
      const one = find.get(row.seq) as GroupedRow | undefined;
      if (!one) return false;
      const { seq, readyAt, attempt, interrupted } = row;
      if (readyAt <= now) join(one, row, now);
      else {
        const { queue, name, ordering, place } = one;
        // The others wait for one that was the first of them, and not for one that was put off in the line.
        const mayHold = one.state === GroupState.leased && ordering === 'wait' && place !== null;
        const isHead = mayHold && head.get(queue, name) === undefined;
        const state = isHead ? GroupState.head : GroupState.apart;
        put.run(state, place, isHead ? null : readyAt, attempt, interrupted, seq);
        tables.insert(row, now);
        advance(queue, name, one.entered_at, now);
      }
      return true;
    },
    /** A head that is in no narrow table any more is as one that was leased, before it waits again. */
    stepDown: (seq: number): void => void leaveHead.run(seq),
    /** Those of these jobs that have a group are leased or held. Answers whether others came forward. */
    lease: (seqs: readonly number[], now: number): boolean => advanceAll(leaseRows(seqs), now),
    /**
     * As above, of heads that nothing else in `ready` waits beside. So those in line behind them are leased too, as many of each group as
     * there is surely room for, and come back turn by turn.
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
    /** Those of these jobs that have a group will not run again. */
    end: (seqs: readonly number[], now: number): void =>
      void advanceAll(remove.all(JSON.stringify(seqs)) as unknown as GroupedRow[], now),
    groupingOf(seq: number): Grouping | null {
      const one = find.get(seq) as GroupedRow | undefined;
      return one ? { group: one.name, ...(one.ordering && { order: one.ordering }) } : null;
    },
    /** Those whose time has come join the lines of their groups. */
    promote(queue: string, now: number): void {
      for (const row of overdue.all(queue, now) as unknown as NarrowRow[]) {
        tables.remove(row);
        join(find.get(row.seq) as unknown as GroupedRow, row, now);
      }
    },
    /** Gives groups a head that should have one: a process of an older release, or a hand, may have taken theirs away. */
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
