/** Removes a temporary folder, and stops the server that runs in it, also when the process that made them was killed. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Socket } from 'node:net';

export interface Keeper {
  /** The server that would have to be stopped; `null` = it has been. */
  watch(pid: number | null): void;
  /** Stops what is left, removes the folder, and resolves when that is done. */
  end(): Promise<void>;
}

// Its input ends when we do, whatever the reason. SIGQUIT is the server's quickest way to stop. The wait has an end,
// because in a container without an init a server that has ended keeps its number.
const script = `
server=
while read -r pid; do server=$pid; done
if [ -n "$server" ]; then
  kill -CONT "$server" 2>/dev/null
  kill -QUIT "$server" 2>/dev/null
  tries=0
  while kill -0 "$server" 2>/dev/null && [ "$tries" -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
fi
rm -rf "$1"
`;

/** Begins to watch: from here on the folder goes when this process does. */
export function keep(folder: string): Keeper {
  const keeper = spawn('/bin/sh', ['-c', script, 'keeper', folder], {
    detached: true, // so that it does not hear the Ctrl-C that ends us
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const ended = once(keeper, 'exit');
  keeper.unref();
  const input = keeper.stdin as Socket;
  input.unref();
  return {
    watch: (pid) => void input.write(`${pid ?? ''}\n`),
    async end() {
      keeper.ref();
      input.end();
      await ended;
    },
  };
}
