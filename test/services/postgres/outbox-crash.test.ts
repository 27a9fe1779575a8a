import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { message } from '../sqlite/messages.ts';
import { type Bench, createBench, emptied } from './outbox-kit.ts';

let bench: Bench;
let child: ChildProcess | null = null;
beforeEach(async () => {
  bench = await createBench();
});
afterEach(async () => {
  child?.kill('SIGKILL');
  await bench.close();
});

function launch(end: 'die' | 'hang'): ChildProcess {
  const args = ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, 'relayer.ts')];
  child = spawn(process.execPath, [...args, bench.url, bench.path, end], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return child;
}

const many = (count: number) =>
  Array.from({ length: count }, (_, i) => message({ id: `m${i}`, group: i % 2 === 0 ? null : `g${i}` }));
const ids = (count: number) => many(count).map(({ id }) => id);

describe('a relay process that is killed', () => {
  it('between send and delete has lost nothing, and doubled nothing', async () => {
    const box = bench.open();
    await bench.transaction((tx) => box.enqueueIn(tx, many(250)));
    for (let kills = 1; kills <= 2; kills++) {
      const [code, signal] = await once(launch('die'), 'exit');
      expect([code, signal]).toEqual([null, 'SIGKILL']);
      // The same batch each time: it was sent, and nothing was deleted.
      expect(await bench.arrived()).toEqual(ids(100));
      expect((await box.backlog()).waiting).toBe(250);
    }
    const relay = bench.relay(box, { batchSize: 100 });
    await emptied(box);
    expect(await bench.arrived()).toEqual(ids(250));
    expect(await relay.stop()).toEqual({ sent: 250, refused: 0 });
    expect(await box.backlog()).toEqual({ waiting: 0, oldestMs: null, refused: 0 });
  });

  it('leaves its place to the relay that stands by', async () => {
    const box = bench.open();
    const working = launch('hang');
    await box.enqueue(many(10));
    await once(working.stdout!, 'data');
    const standby = bench.relay(box);
    await box.enqueue([message({ id: 'more' })]);
    // As long as the first lives, the second gets nothing: it looks about every 500 ms.
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(await bench.arrived()).toEqual([]);
    working.kill('SIGKILL');
    await emptied(box);
    expect(await bench.arrived()).toEqual([...ids(10), 'more']);
    expect((await standby.stop()).sent).toBe(11);
    expect(bench.events).toEqual([]);
  });
});
