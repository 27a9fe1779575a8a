/** Tells when no job is left, for contenders that do not. */

import type pg from 'pg';

/**
 * Asks on a connection of its own, and only while no handler runs.
 *
 * @param rows a table that has a row for each job that is left, or such a table and a condition
 * @param ran how many jobs this process has run
 */
export async function drained(
  require: NodeJS.Require,
  url: string,
  rows: string,
  ran: () => number,
): Promise<void> {
  const { Client } = require('pg') as typeof pg;
  const observer = new Client(url);
  await observer.connect();
  for (let before = -1, left = true; left; ) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    const now = ran();
    if (now === before) {
      const answer = await observer.query(`SELECT EXISTS (SELECT FROM ${rows}) AS left`);
      left = answer.rows[0].left;
    }
    before = now;
  }
  await observer.end();
}
