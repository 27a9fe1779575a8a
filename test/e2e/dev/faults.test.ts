/** Each fault of `longshore dev`, on real processes: what it does to the job, and that nothing is lost. */

import { describe, expect, it } from 'vitest';
import { isCompleted, startDev } from './kit.ts';

describe('a fault of `longshore dev`', () => {
  it('kills the worker: the next one runs the job again, and knows of it', async () => {
    const dev = startDev();
    const first = await dev.begin();
    const id = await dev.enqueue('wait', { file: 'go' });
    await dev.event(({ type }) => type === 'job.started');
    expect(await dev.cause('kill')).toMatch(/killed while it runs wait .* \(attempt 1\)/);
    expect(await first.ended).toEqual({ code: null, signal: 'SIGKILL' });
    expect(dev.faults.hasKilled(first)).toBe(true);
    await dev.begin();
    dev.allow('go');
    const { attempts } = await dev.record(id, isCompleted);
    expect(attempts).toMatchObject([
      { attempt: 1, outcome: 'interrupted' },
      { attempt: 2, outcome: 'acked' },
    ]);
  });

  it('kills the worker in the next job when none runs', async () => {
    const dev = startDev();
    const first = await dev.begin();
    expect(await dev.cause('kill')).toMatch(/No job is running, so the fault waits for the next one/);
    const id = await dev.enqueue('quick', {});
    expect(await first.ended).toEqual({ code: null, signal: 'SIGKILL' });
    await dev.begin();
    const { attempts } = await dev.record(id, isCompleted);
    expect(attempts).toHaveLength(2);
  });

  it('freezes the worker: a second one runs the job, and the end of the first changes nothing', async () => {
    const dev = startDev();
    const first = await dev.begin();
    const id = await dev.enqueue('wait', { file: 'go' });
    await dev.event(({ type }) => type === 'job.started');
    expect(await dev.cause('freeze')).toMatch(/is frozen while it runs wait/);
    await expect(dev.cause('kill')).rejects.toThrow(/A worker is frozen/);
    const again = await dev.event(({ type, attempt }) => type === 'job.started' && attempt === 2);
    expect(again.pid).not.toBe(first.pid);
    const late = await dev.event(({ type, attempt }) => type === 'job.settled' && attempt === 1);
    expect(late).toMatchObject({ id, pid: first.pid, settled: false });
    dev.allow('go');
    const { attempts } = await dev.record(id, isCompleted);
    expect(attempts.at(-1)).toMatchObject({ attempt: 2, outcome: 'acked' });
    await dev.children[1]!.ended; // the first one is enough again
    expect(dev.notes).toEqual([
      `The worker continues. It had lost the lease of ${id}, so the end of attempt 1 changed nothing.`,
    ]);
  });

  it('delivers a job twice: its message is dropped, and a lost ack makes it run again', async () => {
    const dev = startDev();
    await dev.begin();
    const id = await dev.enqueue('wait', { file: 'go' });
    await dev.event(({ type }) => type === 'job.started');
    expect(await dev.cause('deliver-twice')).toMatch(/knew its id and dropped it.*runs twice/);
    dev.allow('go');
    // The record is there before its event is written.
    await dev.record(id, isCompleted);
    await dev.event(({ type, attempt }) => type === 'job.settled' && attempt === 2);
    const ends = dev.events().filter(({ type }) => type === 'job.settled');
    expect(ends).toMatchObject([
      { id, attempt: 1, outcome: 'acked', settled: false },
      { id, attempt: 2, outcome: 'acked', settled: true },
    ]);
  });

  it('delivers a job with an idempotency key twice: the second one is skipped', async () => {
    const dev = startDev();
    await dev.begin();
    const id = await dev.enqueue('once', { file: 'go' });
    await dev.event(({ type }) => type === 'job.started');
    expect(await dev.cause('deliver-twice')).toMatch(/with the same idempotency key/);
    dev.allow('go');
    await dev.record(id, isCompleted);
    const skipped = await dev.event(({ outcome }) => outcome === 'skipped-idempotent');
    expect(skipped.id).not.toBe(id);
    expect(dev.events().filter(({ type }) => type === 'job.log')).toHaveLength(1);
  });

  it('takes a lease away: the job runs once more, and the late end changes nothing', async () => {
    const dev = startDev();
    await dev.begin();
    const id = await dev.enqueue('wait', { file: 'go' });
    await dev.event(({ type }) => type === 'job.started');
    expect(await dev.cause('lose-lock')).toMatch(/was taken away/);
    await dev.event(({ type, attempt }) => type === 'job.started' && attempt === 2);
    dev.allow('go');
    await dev.record(id, isCompleted);
    const late = await dev.event(({ type, attempt }) => type === 'job.settled' && attempt === 1);
    expect(late.settled).toBe(false);
    const kept = await dev.event(({ type, attempt }) => type === 'job.settled' && attempt === 2);
    expect(kept).toMatchObject({ settled: true, outcome: 'acked' });
  });

  it('fails the next attempt, which is retried', async () => {
    const dev = startDev();
    await dev.begin();
    expect(await dev.cause('fail-next')).toMatch(/next attempt fails/);
    const id = await dev.enqueue('quick', {});
    const { attempts } = await dev.record(id, isCompleted);
    expect(attempts).toMatchObject([
      {
        attempt: 1,
        outcome: 'requeued',
        error: { message: 'This attempt fails because you caused a fault.' },
      },
      { attempt: 2, outcome: 'acked' },
    ]);
  });

  it('fills the disk: nothing is stored, nothing is lost', async () => {
    const dev = startDev();
    await dev.begin();
    const running = await dev.enqueue('parent', { file: 'go' });
    await dev.event(({ type }) => type === 'job.started');
    expect(await dev.cause('full-disk')).toMatch(/The disk of the worker is full for 10 seconds/);
    const waiting = await dev.enqueue('quick', {});
    dev.allow('go');
    const failed = await dev.event(({ type }) => type === 'backend.failed');
    expect(failed.error.code).toBe('STORAGE_FULL');
    await dev.event(({ type }) => type === 'backend.recovered');
    await dev.record(waiting, isCompleted);
    const { attempts } = await dev.record(running, isCompleted);
    expect(attempts.at(-1)).toMatchObject({ outcome: 'acked' });
    expect(attempts.length).toBeGreaterThan(1);
  });

  it('skips an hour: what is delayed runs, schedules are due, and a later worker has that time too', async () => {
    const dev = startDev([]);
    await dev.begin();
    const delayed = await dev.enqueue('quick', {}, '--delay', '50m');
    const realNow = Date.now();
    expect(await dev.cause('skip-hour')).toMatch(/An hour has passed/);
    const started = await dev.event(({ type, id }) => type === 'job.started' && id === delayed);
    expect(started).toBeTruthy();
    const fired = await dev.event(({ type }) => type === 'schedule.enqueued');
    expect(fired.dueAt).toBeGreaterThan(realNow);
    const next = await dev.begin();
    const later = await dev.enqueue('quick', {}, '--delay', '30m');
    expect((await dev.event(({ type, id }) => type === 'job.settled' && id === later)).settled).toBe(true);
    expect(next.hasEnded()).toBe(false);
  });

  it('skips no hour while a job runs', async () => {
    const dev = startDev();
    await dev.begin();
    await dev.enqueue('wait', { file: 'go' });
    await dev.event(({ type }) => type === 'job.started');
    expect(await dev.cause('skip-hour')).toMatch(/1 job still runs/);
    expect(dev.faults.aheadMs()).toBe(0);
    dev.allow('go');
    expect((await dev.event(({ type }) => type === 'job.settled')).settled).toBe(true);
  });

  it('is refused by name when there is none of that name', async () => {
    const dev = startDev();
    await dev.begin();
    await expect(dev.cause('constructor')).rejects.toThrow('There is no fault "constructor" here.');
  });
});
