/** The environment of a command. `process.ts` makes it from the process, and tests make their own. */

import type { Clock } from '../../core/base/clock.ts';
import type { SuperviseOptions } from '../dev/supervisor.ts';
import type { Member } from '../fleet/member.ts';
import type { FleetOptions, FleetSummary } from '../fleet/parent.ts';
import type { ChannelEnd } from '../fleet/processes.ts';

export interface Io {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream;
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  /** Which of the three streams are a terminal. */
  readonly isTTY: { readonly stdin: boolean; readonly stdout: boolean; readonly stderr: boolean };
  /** Width of the terminal. Without a terminal, tables are not cut. */
  readonly columns: number;
  /** Height of the terminal. */
  readonly rows: number;
  readonly clock: Clock;
  /** A worker drains at these process signals. */
  readonly signals: readonly NodeJS.Signals[];
  /** Aborts when the reader of stdout has gone. */
  readonly hungUp: AbortSignal;
  /** Runs this program in child processes, for `dev`; resolves with the last exit code of the worker. `null` = not possible. */
  readonly supervised: ((argv: readonly string[], options: SuperviseOptions) => Promise<number>) | null;
  /** Runs this program in several processes, for `work --processes`. `null` = not possible. */
  readonly fleet: ((argv: readonly string[], options: FleetOptions) => Promise<FleetSummary>) | null;
  /** `null` = this process is not a child of `work --processes`. */
  readonly member: Member | null;
  /** `null` = this process is not a child of `dev`. */
  readonly supervisor: ChannelEnd | null;
}
