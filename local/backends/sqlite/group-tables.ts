/** The tables of groups, a part of the schema. */

/** Where a job of a group is. The numbers are stored. */
export const GroupState = {
  /** In no narrow table: its row here is all that says that it waits. */
  inLine: 0,
  /** In `ready`; or in `delayed`, while the others wait for its retry. */
  head: 1,
  /** In `delayed`: it joins the line when its time has come. */
  apart: 2,
  leased: 3,
} as const;

/**
 * A job with a group has one row here as long as it may run. Of each group one job, the head, is in `ready`, so that a fetch reads what it
 * read before; the others are in line. A dead letter keeps its group beside its record. Jobs without a group are not here.
 */
export const groupTables = `
  ALTER TABLE jobs ADD COLUMN grouping TEXT; -- of a dead letter, as JSON
  CREATE TABLE grouped (
    seq INTEGER PRIMARY KEY,
    queue TEXT NOT NULL,
    name TEXT NOT NULL,
    ordering TEXT, -- NULL: groups only take turns
    state INTEGER NOT NULL,
    place INTEGER, -- in the line, kept for life; NULL: it has not joined yet
    entered_at INTEGER NOT NULL DEFAULT 0, -- when it counted as ready, as a head
    apart_until INTEGER,
    attempt INTEGER NOT NULL DEFAULT 0,
    interrupted INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX grouped_line ON grouped (queue, name, state, place, seq);
  CREATE INDEX grouped_apart ON grouped (queue, apart_until) WHERE apart_until IS NOT NULL;
`;
