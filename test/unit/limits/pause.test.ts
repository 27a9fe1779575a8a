/** Jobs of one kind that are paused wait, and come when they are resumed. */

import { describe, expect, it } from 'vitest';
import type { LimitStore } from '../../../core/contract/derived/limits.ts';
import { pauseJob, resumeJob } from '../../../core/features/limits/pause.ts';
import { memory } from '../../../local/backends/memory/index.ts';
import { job, refusalText } from '../core/kit.ts';
import { operatorBench } from '../operator/kit.ts';

const second = 1_000;
const mail = job({ name: 'mail.send' });
const other = job({ name: 'other' });
const open = () => operatorBench({ jobs: [mail, other] });
const waits = { outcome: 'requeued', counted: false, error: null };

describe('a paused job', () => {
  it('does not run, others do, and no attempt is spent', async () => {
    const b = open();
    await b.operator.jobs.pause('mail.send');
    const { id } = await b.client.enqueue(mail, 1);
    expect(await b.next()).toMatchObject(waits);
    await b.client.enqueue(other, 1);
    expect(await b.next()).toMatchObject({ job: 'other', outcome: 'acked' });
    expect(await b.client.status(id)).toMatchObject({ status: 'pending', attempts: [] });
    expect((await b.operator.jobs.stopped()).stopped).toEqual([
      { job: 'mail.send', state: 'paused', until: null, failures: 0, waiting: 1 },
    ]);
  });

  it('comes at once when it is resumed', async () => {
    const b = open();
    await b.operator.jobs.pause('mail.send');
    for (let n = 0; n < 3; n++) {
      await b.client.enqueue(mail, n);
      await b.next();
    }
    await b.operator.jobs.resume('mail.send');
    b.clock.advance(5 * second);
    for (let n = 0; n < 3; n++) expect(await b.next()).toMatchObject({ outcome: 'acked', attempt: 1 });
    expect((await b.operator.jobs.stopped()).stopped).toEqual([]);
  });

  it('is stopped within 5 s where it runs, and runs again within 5 s', async () => {
    const b = open();
    await b.client.enqueue(mail, 1);
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    await pauseJob(b.client, 'mail.send');
    b.clock.advance(5 * second);
    await b.client.enqueue(mail, 2);
    expect(await b.next()).toMatchObject(waits);
    await resumeJob(b.client, 'mail.send');
    // Known to be paused still, but the store says otherwise when it is asked for a slot.
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
  });

  it('asks again by itself now and then', async () => {
    const b = open();
    await pauseJob(b.client, 'mail.send');
    await b.client.enqueue(mail, 1);
    expect(await b.next()).toMatchObject({ ...waits, delayMs: 240_000 });
    b.clock.advance(240_000);
    expect(await b.next()).toMatchObject(waits);
  });

  it('expires while it waits', async () => {
    const brief = job({ name: 'brief', expiresInMs: 60 * second });
    const b = operatorBench({ jobs: [brief] });
    await b.operator.jobs.pause('brief');
    await b.client.enqueue(brief, 1);
    await b.next();
    await b.operator.jobs.resume('brief');
    b.clock.advance(60 * second);
    expect(await b.next()).toMatchObject({ outcome: 'rejected', reason: 'expired' });
  });
});

describe('an operator', () => {
  it('is in the audit log, also where nothing has changed', async () => {
    const b = open();
    for (const verb of ['pause', 'pause', 'resume', 'resume', 'closeBreaker'] as const)
      await b.operator.jobs[verb]('mail.send');
    const { entries } = await b.operator.audit();
    const done = entries.filter(({ phase }) => phase === 'done').toReversed();
    expect(done.map(({ action, target, count, note }) => [action, target, count, note])).toEqual([
      ['job.pause', 'mail.send', 1, null],
      ['job.pause', 'mail.send', 0, 'It was already paused.'],
      ['job.resume', 'mail.send', 1, null],
      ['job.resume', 'mail.send', 0, 'It was not paused.'],
      ['job.close-breaker', 'mail.send', 0, 'It had no failures.'],
    ]);
  });

  it.each(['pause', 'resume', 'closeBreaker'] as const)(
    'refuses to %s a job that there is not',
    async (verb) => {
      const b = open();
      expect(await refusalText(() => b.operator.jobs[verb]('mail.sent'))).toBe(
        'OPTION: Expected the name of a job, got "mail.sent". Did you mean "mail.send"?',
      );
      expect((await b.operator.audit()).entries).toEqual([]);
    },
  );
});

describe('when the store of limits fails', () => {
  const of = (limits: LimitStore, heldUntilReset: Required<LimitStore>['heldUntilReset']) =>
    operatorBench({ jobs: [mail, other], stores: { limits: { ...limits, heldUntilReset } } });

  it('what was known goes on, and the event says so', async () => {
    const limits = memory().stores!.limits!;
    let isDown = false;
    const b = of(limits, async (prefix) => {
      if (isDown) throw new Error('no answer');
      return limits.heldUntilReset!(prefix);
    });
    await b.operator.jobs.pause('mail.send');
    await b.client.enqueue(mail, 1);
    expect(await b.next()).toMatchObject(waits);
    isDown = true;
    b.clock.advance(5 * second);
    await b.client.enqueue(mail, 2);
    expect(await b.next()).toMatchObject(waits);
    expect(b.eventsOf('backend.failed')).toMatchObject([{ during: 'reading which jobs are paused' }]);
  });

  it('no job waits for it longer than 2 s', async () => {
    const b = of(memory().stores!.limits!, () => new Promise(() => {}));
    await b.client.enqueue(mail, 1);
    const running = b.next();
    await new Promise(setImmediate);
    while (b.eventsOf('backend.failed').length === 0) {
      b.clock.advance(500);
      await new Promise(setImmediate);
    }
    expect(await running).toMatchObject({ outcome: 'acked' });
  });
});

describe('apps that pause nothing', () => {
  it('ask at most every 4 s, not for each job', async () => {
    const limits = memory().stores!.limits!;
    let asked = 0;
    const heldUntilReset: LimitStore['heldUntilReset'] = (prefix) => {
      asked++;
      return limits.heldUntilReset!(prefix);
    };
    const b = operatorBench({ jobs: [mail], stores: { limits: { ...limits, heldUntilReset } } });
    for (let n = 0; n < 12; n++) {
      await b.once(mail);
      b.clock.advance(second);
    }
    expect(asked).toBe(3);
  });
});
