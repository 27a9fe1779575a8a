/** What a command knows of the world around it. `process.ts` makes one of the process, tests make their own. */

import type { Clock } from '../../core/base/clock.ts';
import type { ChannelEnd } from '../dev/processes.ts';
import type { SuperviseOptions } from '../dev/supervisor.ts';

export interface Io {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Which of the three streams are a terminal. */
  readonly isTTY: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean };
  /** Width of the terminal; tables are only cut where there is one. */
  readonly columns: number;
  /** Its height. */
  readonly rows: number;
  readonly clock: Clock;
  /** Process signals at which a worker drains. */
  readonly signals: readonly NodeJS.Signals[];
  /** Aborts when the reader of stdout has gone. */
  readonly hungUp: AbortSignal;
  /** Runs this program as children of this process, for `dev`; resolves with the worker's last exit code. `null`: it cannot. */
  readonly supervised: ((argv: readonly string[], options: SuperviseOptions) => Promise<number>) | null;
  /** `null`: this process is no child of `dev`. */
  readonly supervisor: ChannelEnd | null;
}
