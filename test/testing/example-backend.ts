/**
 * A whole backend in one file, to start one of your own from: a queue and a store in the memory of this process that keep the laws. It
 * shows what each of the eight verbs has to do, and the three tables from which the kit makes all stores. It does nothing for speed;
 * `longshore/local/memory` is the one to use.
 */

import type { Clock } from '../../core/base/clock.ts';
import type { DeadLetter } from '../../core/contract/admin.ts';
import type { JobLease, OutgoingMessage, QueueBackend, SendResult } from '../../core/contract/queue.ts';
import type { Retention, Stores } from '../../core/contract/store.ts';
import type { NamedText, TextStore } from '../../core/contract/texts.ts';
import { tooLarge } from '../../core/kit/body-limit.ts';
import { listedOf, matches, pageOf, positionIn } from '../../core/kit/records/filter.ts';
import { endOf, type KeyTable, keyStore, type StoredKey } from '../../core/kit/records/keys.ts';
import type { RecordRow } from '../../core/kit/records/row.ts';
import { isShown, type RecordTable, recordStore } from '../../core/kit/records/store.ts';
import { storesOf } from '../../core/kit/texts/stores.ts';

interface Stored {
  readonly message: OutgoingMessage;
  readyAt: number;
  attempt: number;
  interrupted: boolean;
  /** `null` = nobody has it. */
  lease: { readonly token: string; until: number } | null;
}

export interface ExampleBackend extends QueueBackend {
  /** In the order in which they died. A real backend offers them in its `admin`. */
  readonly dead: readonly DeadLetter[];
}

/** One priority level weighs as much as an hour of waiting, so that nothing starves. */
const ageingMs = 3_600_000;

export function exampleBackend({ clock }: { readonly clock: Clock }): ExampleBackend {
  const limits = { maxBodyBytes: 1_048_576, maxDelayMs: null, maxLeaseMs: null };
  /** By id, in the order of arrival. */
  const jobs = new Map<string, Stored>();
  const dead: DeadLetter[] = [];
  const waiting = new Set<() => void>();
  const stores = exampleStore({ clock });
  let tokens = 0;
  let open = true;

  const rank = ({ readyAt, message }: Stored): number => readyAt + message.priority * ageingMs;

  function wake(): void {
    for (const end of [...waiting]) end();
  }

  /** What a lease still owns. Every settle verb begins here: a stale token must change nothing. */
  const owned = ({ token }: JobLease): Stored | undefined =>
    [...jobs.values()].find(({ lease }) => lease?.token === token && lease.until > clock.now());

  function store(message: OutgoingMessage): SendResult {
    const { id, body, notBefore } = message;
    const error = tooLarge(body, limits.maxBodyBytes);
    if (error) return { ok: false, id, error };
    if (jobs.has(id)) return { ok: true, id, duplicate: true };
    // A moment in the past must give no advantage over what already waits.
    const readyAt = Math.max(clock.now(), notBefore ?? 0);
    jobs.set(id, { message, readyAt, attempt: 0, interrupted: false, lease: null });
    return { ok: true, id, duplicate: false };
  }

  /** The attempt is counted here, so that a job that kills its worker runs out of attempts, too. */
  function leaseOut(one: Stored, leaseMs: number): JobLease {
    const lease = { token: `${++tokens}`, until: clock.now() + leaseMs };
    const { interrupted, message } = one;
    Object.assign(one, { lease, attempt: one.attempt + 1, interrupted: false });
    const { queue, body } = message;
    return { queue, body, attempt: one.attempt, interrupted, token: lease.token, expiresAt: lease.until };
  }

  /** Until something comes or becomes ready, the time is over, or the caller gives up. */
  function wait(until: number, signal: AbortSignal | undefined): Promise<void> {
    const delayed = [...jobs.values()].filter(({ readyAt }) => readyAt > clock.now());
    const next = Math.min(until, ...delayed.map(({ readyAt }) => readyAt));
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        waiting.delete(end);
        signal?.removeEventListener('abort', end);
        resolve();
      };
      const cancel = clock.after(next - clock.now(), end);
      waiting.add(end);
      signal?.addEventListener('abort', end);
    });
  }

  return {
    name: 'example',
    limits,
    stores,
    dead,
    async enqueue(messages) {
      const results = messages.map(store);
      wake();
      return results;
    },
    async fetch({ queues, max, leaseMs, waitMs, signal }) {
      const until = clock.now() + waitMs;
      for (;;) {
        const ready = [...jobs.values()]
          .filter(({ lease, readyAt, message }) => {
            return lease === null && readyAt <= clock.now() && queues.includes(message.queue);
          })
          .sort((a, b) => rank(a) - rank(b));
        const leases = ready.slice(0, max).map((one) => leaseOut(one, leaseMs));
        if (leases.length > 0 || clock.now() >= until || signal?.aborted || !open) return leases;
        await wait(until, signal);
      }
    },
    async ack(acks) {
      const settled = acks.map(({ lease }) => jobs.delete(owned(lease)?.message.id ?? ''));
      // A queue with a store of its own completes the idempotency key together with the ack.
      for (const [i, { complete }] of acks.entries())
        if (settled[i] && complete) await stores.keys.complete(complete.key, complete.owner, complete);
      return settled;
    },
    async nack(lease, { delayMs, countAttempt }) {
      const one = owned(lease);
      if (!one) return false;
      Object.assign(one, { lease: null, readyAt: clock.now() + delayMs });
      // As if this attempt had never begun, what is known of the one before included.
      if (!countAttempt) Object.assign(one, { attempt: one.attempt - 1, interrupted: lease.interrupted });
      wake();
      return true;
    },
    async abandon(lease, { reason, error }) {
      const one = owned(lease);
      if (!one) return false;
      const { id, queue, job, body } = one.message;
      jobs.delete(id);
      dead.push({ id, queue, job, body, reason, error, attempt: one.attempt, diedAt: clock.now() });
      return true;
    },
    async renew(leases, leaseMs) {
      return leases.map((lease) => {
        const one = owned(lease);
        if (one) one.lease!.until = clock.now() + leaseMs;
        return one !== undefined;
      });
    },
    async reapExpired(queue) {
      const lost = [...jobs.values()].filter(({ message, lease }) => {
        return message.queue === queue && lease !== null && lease.until <= clock.now();
      });
      for (const one of lost) Object.assign(one, { lease: null, interrupted: true, readyAt: clock.now() });
      wake();
      return lost.length;
    },
    async close() {
      open = false;
      wake();
    },
  };
}

/**
 * Keys, records and texts. A queue that keeps no records of its own, such as this one, tells the store of each step of a job; one that
 * does has a `RecordStore` in place of the table of records, and no writer.
 */
export function exampleStore({ clock, retention }: ExampleStoreOptions): Stores {
  const keys = versions<StoredKey>();
  const texts = versions<Text>();
  const purgeOthers = (now: number): number =>
    keys.removeIf((key) => endOf(key) <= now) +
    texts.removeIf(({ endsAt }) => endsAt !== null && endsAt <= now);
  return {
    keys: keyStore(keyTable(keys), clock),
    records: recordStore(recordTable(purgeOthers), { clock, retention }),
    ...storesOf(textStore(texts), clock),
  };
}

export interface ExampleStoreOptions {
  readonly clock: Clock;
  readonly retention?: Partial<Retention>;
}

/** What every table needs: of two writers that have read the same version of a row one succeeds. */
type Versions<Row> = ReturnType<typeof versions<Row>>;

function versions<Row>() {
  const rows = new Map<string, { readonly row: Row; readonly version: string }>();
  let writes = 0;
  const isAt = (name: string, version: string | null | undefined): boolean =>
    version === undefined || version === (rows.get(name)?.version ?? null);
  return {
    get: (name: string) => rows.get(name) ?? null,
    all: () => [...rows],
    /** @param over the version that was read, `null` = there is none, absent = whatever is there */
    put(name: string, row: Row, over?: string | null): string | null {
      if (!isAt(name, over)) return null;
      const version = `${++writes}`;
      rows.set(name, { row, version });
      return version;
    },
    remove: (name: string, over?: string): boolean => isAt(name, over) && rows.delete(name),
    /** Returns how many. */
    removeIf(isOver: (row: Row) => boolean): number {
      const over = [...rows].filter(([, { row }]) => isOver(row));
      for (const [name] of over) rows.delete(name);
      return over.length;
    },
  };
}

interface Text {
  readonly text: string;
  readonly endsAt: number | null;
}

/** Steps, schedules, numbers, the audit log, heartbeats, limits and batches are all kept by these four verbs. */
function textStore(rows: Versions<Text>): TextStore {
  return {
    read: async (names) =>
      names.map((name) => {
        const found = rows.get(name);
        return found && { text: found.row.text, version: found.version };
      }),
    write: async (texts) =>
      texts.map(({ name, text, endsAt, ifVersion }) => rows.put(name, { text, endsAt }, ifVersion)),
    remove: async (texts) => texts.map(({ name, ifVersion }) => rows.remove(name, ifVersion)),
    async list({ prefix, after = '', before, max }) {
      const isWanted = (name: string): boolean =>
        name.startsWith(prefix) && name > after && (before === undefined || name < before);
      return rows
        .all()
        .filter(([name]) => isWanted(name))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .slice(0, max)
        .map(([name, { row, version }]): NamedText => ({ name, text: row.text, version }));
    },
  };
}

const keyTable = (rows: Versions<StoredKey>): KeyTable => ({
  async read(key) {
    const found = rows.get(key);
    return found && { stored: found.row, version: found.version };
  },
  write: async (key, stored, over) => rows.put(key, stored, over) !== null,
  remove: async (key, version) => rows.remove(key, version),
});

/** What is told of jobs. `seq`: of two that were made in one moment, the later one is the newer. */
function recordTable(purgeOthers: (now: number) => number): RecordTable {
  const rows = versions<{ readonly record: RecordRow; readonly seq: number }>();
  let added = 0;
  return {
    async add(fresh) {
      for (const record of fresh) rows.put(record.id, { record, seq: ++added }, null);
    },
    async read(ids) {
      return ids.flatMap((id) => {
        const found = rows.get(id);
        return found ? { row: found.row.record, version: found.version } : [];
      });
    },
    async write(record, over) {
      const seq = rows.get(record.id)?.row.seq ?? ++added;
      return rows.put(record.id, { record, seq }, over) !== null;
    },
    async page({ after, ...filter }, max, past) {
      const [before, beforeSeq] = after === undefined ? [Infinity, 0] : positionIn(after, 'number', 'number');
      const found = rows
        .all()
        .map(([, { row }]) => row)
        .filter(
          ({ record: { createdAt }, seq }) => createdAt < before || (createdAt === before && seq < beforeSeq),
        )
        .filter(({ record }) => isShown(record, past) && matches(listedOf(record), filter))
        .sort((a, b) => b.record.createdAt - a.record.createdAt || b.seq - a.seq);
      const { shown, next } = pageOf(found, max, ({ record, seq }) => [record.createdAt, seq]);
      return { rows: shown.map(({ record }) => record), next };
    },
    purge: async (past, now) =>
      purgeOthers(now) + rows.removeIf(({ record }) => !isShown(record, past) && record.guardedUntil <= now),
  };
}
