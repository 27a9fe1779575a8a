/** The connection for all that holds no job: sending, counting, looking. A broken one is replaced at the next call. */

import { type Connection, type ConnectionOptions, openConnection } from './connection.ts';
import { refusal } from './errors.ts';
import type { Reply } from './replies.ts';
import { type JobStats, jobStatsOf, type TubeStats, tubeStatsOf, tubesOf } from './stats.ts';

/** For commands that work on the tube in use, and those that bring a body. */
export interface More {
  readonly tube?: string;
  readonly body?: string | Uint8Array;
}

export function createLink(server: ConnectionOptions) {
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

  /** The command that makes the connection put into this tube, to be sent at once; `null` = it does already. */
  function use(to: Connection, tube: string): string | null {
    if (used.get(to) === tube) return null;
    used.set(to, tube);
    return `use ${tube}`;
  }

  async function send(line: string, { tube, body }: More = {}): Promise<Reply> {
    const to = await connection();
    // Both leave together, and a server takes commands in their order.
    const first = tube === undefined ? null : use(to, tube);
    if (first !== null) void to.send(first).catch(() => {}); // then the command fails too
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
    /** `null` = there is none. */
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
