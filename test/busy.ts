/**
 * Runs the tests on a machine that has other things to do: `npm run test:busy -- [--times 3] [--loops 8] [-- command]`, by default
 * `npm test` three times beside eight busy loops. The loops end with it, however it ends.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';

const { values, positionals } = parseArgs({
  options: { times: { type: 'string', default: '3' }, loops: { type: 'string', default: '8' } },
  allowPositionals: true,
});
const [program = 'npm', ...args] = positionals.length > 0 ? positionals : ['npm', 'test'];

// Each watches for us: a loop whose parent was killed has another one, and ends.
const loop = `const parent = process.ppid;
  while (process.ppid === parent) for (const until = Date.now() + 500; Date.now() < until; );`;
const loops = Array.from({ length: Number(values.loops) }, () =>
  spawn(process.execPath, ['-e', loop], { stdio: 'ignore' }),
);
const ended = (child: ChildProcess) => once(child, 'exit') as Promise<[number | null]>;

let status = 0;
try {
  for (let n = 1; n <= Number(values.times); n++) {
    const since = performance.now();
    const [code] = await ended(spawn(program, args, { stdio: 'inherit' }));
    const seconds = Math.round((performance.now() - since) / 1_000);
    process.stdout.write(
      `Beside ${loops.length} busy loops, run ${n} of ${values.times}: ${code === 0 ? 'green' : `code ${code}`} after ${seconds} s\n`,
    );
    if (code !== 0) status = 1;
  }
} finally {
  for (const child of loops) child.kill('SIGKILL');
}
process.exitCode = status;
