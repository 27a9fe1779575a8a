/** A progress bar on stderr, only on a terminal. */

import type { Input } from '../definition.ts';

interface Progress {
  readonly visible: boolean;
  add(done: number): void;
  stop(): void;
}

const none: Progress = { visible: false, add() {}, stop() {} };

export async function startProgress(
  { io, json }: Pick<Input, 'io' | 'json'>,
  label: string,
  total: number,
): Promise<Progress> {
  if (json || !io.isTTY.stderr || total === 0) return none;
  const { SingleBar } = await import('cli-progress');
  const bar = new SingleBar({
    stream: io.stderr,
    format: `${label} [{bar}] {value}/{total}  {duration_formatted}`,
    barsize: 24,
    hideCursor: true,
    gracefulExit: false, // the command handles signals
    emptyOnZero: true,
  });
  let done = 0;
  let most = total;
  bar.start(total, 0);
  return {
    visible: true,
    add(more) {
      done += more;
      most = Math.max(most, done); // work may be added meanwhile
      bar.setTotal(most);
      bar.update(done);
    },
    stop: () => bar.stop(),
  };
}

/** Shows a bar while `work` runs. */
export async function withProgress<T>(
  input: Pick<Input, 'io' | 'json'>,
  label: string,
  total: number,
  work: (bar: Progress) => Promise<T>,
): Promise<T> {
  const bar = await startProgress(input, label, total);
  return work(bar).finally(() => bar.stop());
}
