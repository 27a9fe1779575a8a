/** Shared by the parts of the backend. */

import { randomUUID } from 'node:crypto';
import { within } from '../../../core/base/clock.ts';
import { config, LongshoreError, shown } from '../../../core/base/errors.ts';
import { createMetadata } from '../../../core/kit/metadata.ts';
import { createWarnings } from '../../../core/kit/warnings.ts';
import { backendDefaults } from '../shared/defaults.ts';
import { aloneStores } from './alone.ts';
import { type Connection, type ConnectionOptions, openConnection } from './connection.ts';
import { type JobStats, jobStatsOf, type TubeStats, tubeStatsOf, tubesOf } from './job.ts';
import { type Settings, tubePattern } from './options.ts';
import { type Reply, refusal } from './replies.ts';

export type BeanstalkdState = ReturnType<typeof createState>;

const metadataMs = backendDefaults.retention.deadMs;
const warnAgainMs = 60_000;
/** A store that takes longer counts as failed, because other jobs wait meanwhile. */
const longestAnswerMs = 10_000;

export function createState({ store, prefix, ...settings }: Settings) {
  const { server, clock } = settings;
  const stores = store ?? aloneStores(clock);
  const link = createLink(server);
  const warnings = createWarnings();
  const known = new Set<string>();
  const metadata = createMetadata(stores.keys, clock, randomUUID, metadataMs);
  let warnedAt = Number.NEGATIVE_INFINITY;

  /** Throws `CONFIG` for a name that is not a valid tube. */
  function tubeOf(queue: string): string {
    const tube = `${prefix}${queue}`;
    if (tubePattern.test(tube)) return tube;
    throw config(
      `Expected a queue name that is a valid tube name (it must not begin with -), got ${shown(tube)}.`,
    );
  }

  /** Waits for an answer of the store. Throws `BACKEND` when it takes too long. */
  const answered = <T>(work: Promise<T>): Promise<T> =>
    within(clock, longestAnswerMs, work, () => {
      throw new LongshoreError(
        'BACKEND',
        `The store of beanstalkd() did not answer for ${longestAnswerMs} ms.`,
      );
    });

  return {
    ...settings,
    link,
    stores,
    warnings,
    metadata: {
      read: <T>(key: string) => answered(metadata.read<T>(key)),
      update: <T>(key: string, change: (old: T | null) => T | null) => answered(metadata.update(key, change)),
    },
    answered,
    /** Whether metadata outlives this process. */
    keepsMetadata: store !== undefined,
    /** Prefix of the keys of metadata. Stored, so it must not change. */
    scope: `beanstalkd:${server.host}:${server.port}`,
    isOpen: true,
    tubeOf,
    queueOf: (tube: string) => tube.slice(prefix.length),
    /** Adds a queue to the list of `tubes`. */
    know: (queue: string) => void known.add(tubeOf(queue)),
    /** The tubes of the server with this prefix, and the known ones. */
    async tubes(): Promise<string[]> {
      const there = (await link.tubes()).filter((tube) => tube.startsWith(prefix) && tubePattern.test(tube));
      return [...new Set([...known, ...there])].filter((tube) => tube.length > prefix.length).sort();
    },
    /** The store has failed, and the job continues without its metadata. */
    metadataFailed(error: unknown): null {
      const now = performance.now();
      if (now - warnedAt > warnAgainMs) {
        warnedAt = now;
        warnings.warn(`The store of beanstalkd() has failed, so some attempts are counted wrongly: ${error}`);
      }
      return null;
    },
  };
}

/** Tube to use and body to send, for commands that need them. */
export interface More {
  readonly tube?: string;
  readonly body?: string | Uint8Array;
}

/** The connection for all commands that hold no job. A broken one is replaced at the next call. */
function createLink(server: ConnectionOptions) {
  let current: Connection | null = null;
  let opening: Promise<Connection> | null = null;
  let isClosed = false;
  const used = new WeakMap<Connection, string>();

  async function connection(): Promise<Connection> {
    if (current?.isOpen) return current;
    opening ??= openConnection(server).finally(() => {
      opening = null;
    });
    const opened = await opening;
    if (isClosed) opened.destroy();
    current = opened;
    return opened;
  }

  /** The command to select this tube, which must be sent at once; `null` = already selected. */
  function use(to: Connection, tube: string): string | null {
    if (used.get(to) === tube) return null;
    used.set(to, tube);
    return `use ${tube}`;
  }

  async function send(line: string, { tube, body }: More = {}): Promise<Reply> {
    const to = await connection();
    // Both are sent together, and the server handles commands in order.
    const first = tube === undefined ? null : use(to, tube);
    if (first !== null) void to.send(first).catch(() => {}); // if it fails, the command fails too
    return to.send(line, body);
  }

  async function yaml(line: string): Promise<string | null> {
    const { word, data } = await send(line);
    if (word === 'NOT_FOUND') return null;
    if (word !== 'OK') throw refusal('asking for numbers', word);
    return data;
  }

  return {
    connection,
    use,
    send,
    /** `peek <number>`, or the next job of a tube: `peek-ready`, `peek-delayed`, `peek-buried`. `null` = none. */
    async peek(command: string, tube?: string): Promise<{ jobId: number; data: string } | null> {
      const { word, number: jobId, data } = await send(command, tube === undefined ? {} : { tube });
      if (word === 'NOT_FOUND') return null;
      if (word !== 'FOUND') throw refusal('peeking', word);
      return { jobId, data: data! };
    },
    /** Resolves with the number of the job. */
    async put(tube: string, [rank, delaySeconds, ttrSeconds]: readonly number[], body: string | Uint8Array) {
      const line = `put ${rank} ${delaySeconds} ${ttrSeconds} ${Buffer.byteLength(body)}`;
      const { word, number } = await send(line, { tube, body });
      // The server had no memory to make it ready and buried it. It must not stay buried.
      if (word === 'BURIED') await send(`delete ${number}`);
      if (word !== 'INSERTED') throw refusal('putting a job', word === 'BURIED' ? 'OUT_OF_MEMORY' : word);
      return number;
    },
    /** `null` = no such job. */
    async jobStats(jobId: number): Promise<JobStats | null> {
      const text = await yaml(`stats-job ${jobId}`);
      return text === null ? null : jobStatsOf(text);
    },
    async tubeStats(tube: string): Promise<TubeStats | null> {
      const text = await yaml(`stats-tube ${tube}`);
      return text === null ? null : tubeStatsOf(text);
    },
    async tubes(): Promise<string[]> {
      return tubesOf((await yaml('list-tubes'))!);
    },
    close(): void {
      isClosed = true;
      current?.destroy();
    },
  };
}
