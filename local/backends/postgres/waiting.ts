import type { PendingJobs, WaitingChange, WaitingJob } from '../../../core/contract/admin.ts';
import { GroupState } from '../shared/groups.ts';
import { notifying } from '../shared/notifier.ts';
import { storable, textArray } from './arrays.ts';
import { refusal, storedFacts } from './enqueue.ts';
import { cameFrom, thenCame } from './group-pieces.ts';
import { lookBackPayload } from './listen.ts';
import type { PostgresState } from './state.ts';

export function postgresWaiting(state: PostgresState, maxBodyBytes: number): PendingJobs {
  const { db, ageingMs } = state;
  const s = db.schema;
  const sql = thenCame(`${s}.change_waiting($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`);

  /** @param change `null` = remove the jobs */
  async function write(jobs: readonly WaitingJob[], change: WaitingChange | null): Promise<boolean[]> {
    const { priority = null, notBefore, expectedBody = null, body, facts } = change ?? {};
    const delay = notBefore === undefined ? null : state.delayOf({ notBefore });
    const text = [expectedBody, body ?? null, ...storedFacts(facts)];
    const texts = [jobs.map(({ queue }) => queue), jobs.map(({ id }) => id)];
    const values = [state.at(), ageingMs, ...texts.map((some) => textArray(some.map(storable)))];
    // A removal makes no job ready, except a new head of a group.
    const queues = new Set(change ? [lookBackPayload, ...jobs.map(({ queue }) => queue)] : []);
    const [answers, came] = await notifying(state.notifier, queues, async (notified) => {
      const rest = [change === null, priority, delay, ...text, state.channel, textArray(notified)];
      const [row] = await db.prepared('changing waiting jobs', sql, [...values, ...rest]);
      return row as [boolean[], unknown];
    });
    state.wakeAll(cameFrom(came).filter((queue) => !queues.has(queue)));
    for (const queue of queues) state.wake(queue);
    return answers;
  }

  return {
    async change(jobs, change) {
      for (const { id } of change.body === undefined ? [] : jobs) {
        const error = refusal({ id, body: change.body! }, maxBodyBytes);
        if (error) throw error;
      }
      await db.ready();
      return jobs.length === 0 ? [] : write(jobs, change);
    },
    async remove(job) {
      await db.ready();
      return (await write([job], null))[0]!;
    },
    async read({ queue, id }) {
      const waits = ['ready', 'delayed'].map((table) => {
        const column = table === 'ready' ? 'rank' : 'ready_at';
        return `EXISTS (SELECT FROM ${s}.${table} w WHERE w.queue = j.queue AND w.${column} = j.${column} AND w.seq = j.seq)`;
      });
      waits.push(`EXISTS (SELECT FROM ${s}.grouped g WHERE g.id = j.id AND g.state = ${GroupState.inLine})`);
      const text = `SELECT body FROM ${s}.jobs j WHERE id = $1 AND queue = $2 AND (${waits.join(' OR ')})`;
      const [row] = await db.query('reading a job', text, [storable(id), storable(queue)]);
      return (row?.[0] as string | undefined) ?? null;
    },
  };
}
