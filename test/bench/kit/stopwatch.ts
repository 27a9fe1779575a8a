/** Wall time, and the CPU time of both ends: where a machine is shared, the second is the steadier number. */

import { readFileSync } from 'node:fs';
import { nowMs } from './app.ts';

export interface Cpu {
  /** Microseconds per job in this process. */
  readonly clientCpuUs: number;
  /** Microseconds per job in the server and all its processes; `null` where they cannot be seen. */
  readonly serverCpuUs: number | null;
}

export interface Stopwatch {
  start(): void;
  /** @param at when the work ended, if that was a moment ago, on the clock of `nowMs()` */
  stop(at?: number): void;
  read(): Cpu & { readonly startedAt: number; readonly endedAt: number };
}

export function createStopwatch(jobs: number, serverPid: number | null): Stopwatch {
  const now = () => ({ at: nowMs(), client: process.cpuUsage(), serverMs: serverCpuMs(serverPid) });
  let began = now();
  let ended = began;
  return {
    start() {
      began = now();
    },
    stop(at) {
      ended = now();
      if (at !== undefined) ended.at = at;
    },
    read() {
      const { user, system } = ended.client;
      const serverMs = began.serverMs === null ? null : ended.serverMs! - began.serverMs;
      return {
        startedAt: began.at,
        endedAt: ended.at,
        clientCpuUs: (user + system - began.client.user - began.client.system) / jobs,
        serverCpuUs: serverMs === null ? null : (serverMs * 1000) / jobs,
      };
    },
  };
}

/** Linux counts in hundredths of a second, and adds a process that has ended to its parent. */
const tickMs = 10;

export function serverCpuMs(pid: number | null): number | null {
  if (pid === null) return null;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  let ticks = ticksOf(`${pid}`, 4);
  for (const child of children) {
    try {
      ticks += ticksOf(child, 2);
    } catch {
      // It has ended since, and counts with its parent from now on.
    }
  }
  return ticks * tickMs;
}

/** @param fields 2: user and system time of the process itself, 4: and of its children that have ended */
function ticksOf(pid: string, fields: 2 | 4): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const afterName = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // begins with field 3, the state
  return afterName.slice(11, 11 + fields).reduce((sum, text) => sum + Number(text), 0);
}
