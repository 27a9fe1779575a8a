/** The connection for all that holds no job: sending, counting, looking. A broken one is replaced at the next call. */

import { type Connection, openConnection } from './connection.ts';
import { refusal } from './errors.ts';
import type { Reply } from './replies.ts';
import { type JobStats, jobStatsOf, type TubeStats, tubeStatsOf, tubesOf } from './stats.ts';

export interface Link {
  connection(): Promise<Connection>;
  /** The command that makes `connection` put into this tube; `null` = it does already. To be sent at once. */
  use(connection: Connection, tube: string): string | null;
  /** One command. A tube, where the command works on the one in use. */
  send(line: string, tube?: string): Promise<Reply>;
  /** `null` = there is none. */
  jobStats(jobId: number): Promise<JobStats | null>;
  tubeStats(tube: string): Promise<TubeStats | null>;
  tubes(): Promise<string[]>;
  close(): void;
}

export interface Place {
  readonly host: string;
  readonly port: number;
  readonly silenceMs: number;
}

export function createLink(place: Place): Link {
  let current: Connection | null = null;
  let opening: Promise<Connection> | null = null;
  let isClosed = false;
  const used = new WeakMap<Connection, string>();

  async function connection(): Promise<Connection> {
    if (current?.isOpen) return current;
    opening ??= openConnection(place).finally(() => {
      opening = null;
    });
    const opened = await opening;
    if (isClosed) opened.destroy();
    current = opened;
    return opened;
  }

  async function yaml(line: string): Promise<string | null> {
    const { word, data } = await link.send(line);
    if (word === 'NOT_FOUND') return null;
    if (word !== 'OK') throw refusal('asking for numbers', word);
    return data;
  }

  const link: Link = {
    connection,
    use(to, tube) {
      if (used.get(to) === tube) return null;
      used.set(to, tube);
      return `use ${tube}`;
    },
    async send(line, tube) {
      const to = await connection();
      // Both leave together, and a server takes commands in their order.
      const use = tube === undefined ? null : link.use(to, tube);
      if (use !== null) void to.send(use).catch(() => {});
      return to.send(line);
    },
    async jobStats(jobId) {
      const text = await yaml(`stats-job ${jobId}`);
      return text === null ? null : jobStatsOf(text);
    },
    async tubeStats(tube) {
      const text = await yaml(`stats-tube ${tube}`);
      return text === null ? null : tubeStatsOf(text);
    },
    async tubes() {
      return tubesOf((await yaml('list-tubes'))!);
    },
    close() {
      isClosed = true;
      current?.destroy();
    },
  };
  return link;
}
