/** Real executables in a folder of their own, and what became of the processes they started. */

import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { until } from '../../kit/until.ts';

export interface Folder {
  readonly path: string;
  /** Writes an executable sh script and returns its path. */
  script(name: string, body: string): string;
  file(name: string, text: string, mode?: number): string;
  /** Waits for a file with so many lines of process ids and returns them. */
  pids(name: string, count: number): Promise<number[]>;
}

export function folder(): Folder {
  const path = realpathSync(mkdtempSync(join(tmpdir(), 'longshore-jobs-')));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  const at = (name: string) => join(path, name);
  const file = (name: string, text: string, mode = 0o644) => {
    writeFileSync(at(name), text, { mode });
    return at(name);
  };
  return {
    path,
    file,
    script: (name, body) => file(name, `#!/bin/sh\n${body}\n`, 0o755),
    async pids(name, count) {
      const read = () => {
        try {
          return readFileSync(at(name), 'utf8').split('\n').filter(Boolean).map(Number);
        } catch {
          return [];
        }
      };
      await until(() => read().length >= count);
      return read();
    },
  };
}

/** Whether a process runs. One that is dead but not yet reaped by its parent does not. */
export function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (process.platform !== 'linux') return true;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !/^\d+ \(.*\) Z/s.test(stat);
  } catch {
    return false;
  }
}
