/** Messages that never run: forged, copied, unknown, expired, or killers of their workers. */

import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { keyRing } from '../../../core/envelope/signing.ts';
import { defineJob, type Job } from '../../../core/kernel/app/job.ts';
import { bench, envelope, job, ring, secret, startMs } from './kit.ts';

/** A job that must not run. */
const never = (name = 'work') =>
  job({
    name,
    handle: () => {
      throw new Error('Expected that this never runs.');
    },
  });

/** Lets one worker after the other take the message and vanish. */
async function crash(b: ReturnType<typeof bench>, times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await b.take(1000);
    b.clock.advance(1000);
    await b.backend.reapExpired('default');
  }
}

describe('rejected', () => {
  const other = keyRing([{ kid: 'other', secret: secret(9) }]);
  it.each([
    ['text that is no envelope', 'hello', 'SIGNATURE'],
    ['a changed payload', envelope({ payload: { amount: 10 } }).replace('10', '99'), 'SIGNATURE'],
    ['an unknown key', envelope().replace('"kid":"k1"', '"kid":"k2"'), 'UNKNOWN_KEY'],
    ['a signature of another key', `${envelope().slice(0, -66)}${other.sign('x')}"}`, 'SIGNATURE'],
    ['another queue', envelope({ queue: 'mail' }), 'WRONG_QUEUE'],
    ['a member of the wrong type', envelope({ priority: 77 }), 'ENVELOPE'],
  ])('%s', async (_, body, code) => {
    const b = bench({ jobs: [never()] });
    await b.put(body);
    expect(await b.next()).toMatchObject({
      job: null,
      outcome: 'rejected',
      settled: true,
      attempt: 1,
      reason: 'rejected',
      error: { code },
    });
    const [letter] = await b.deadLetters();
    expect(letter).toMatchObject({ reason: 'rejected', body });
    expect(letter?.error).toMatch(new RegExp(`^${code}: `));
  });

  it.each([
    ['as it says itself', envelope({ payload: { a: ',"identifier":"other"' } }), 'id-0'],
    ['without an id', 'hello', ''],
    ['with an id that is none', envelope({ identifier: 'a\u001b[31m' }), ''],
  ])('is named in its event %s', async (_, body, id) => {
    const b = bench({ jobs: [never()], signing: other });
    await b.put(body);
    await b.next();
    expect(b.events.at(-1)).toMatchObject({ type: 'job.settled', id, outcome: 'rejected' });
  });

  it('by the schema, which is asked again before the run', async () => {
    const strict = defineJob({ name: 'work', payload: z.object({ id: z.string() }), handle: never().run });
    const b = bench({ jobs: [strict] });
    await b.put(envelope({ payload: { id: 7 } }));
    expect(await b.next()).toMatchObject({
      id: 'id-0',
      job: 'work',
      outcome: 'rejected',
      reason: 'rejected',
      error: {
        code: 'PAYLOAD',
        message:
          'The payload does not fit the schema of job "work": id: Invalid input: expected string, received number.',
      },
    });
  });

  it('by a schema that takes its time', async () => {
    const schema = z.object({ id: z.string().refine(async (id) => id === 'good', 'is bad') });
    const ran: string[] = [];
    const slow = defineJob({ name: 'work', payload: schema, handle: ({ id }) => void ran.push(id) });
    const b = bench({ jobs: [slow] });
    await b.put(envelope({ payload: { id: 'bad' } }));
    expect(await b.next()).toMatchObject({ outcome: 'rejected', error: { code: 'PAYLOAD' } });
    await b.put(envelope({ payload: { id: 'good' } }));
    expect((await b.next()).outcome).toBe('acked');
    expect(ran).toEqual(['good']);
  });

  it('not by a schema that fails itself: that is a failed attempt, which a retry may heal', async () => {
    const broken = {
      '~standard': { version: 1, vendor: 'test', validate: () => Promise.reject(new Error('db down')) },
    };
    const b = bench({ jobs: [job({ payload: broken as never, handle: never().run })] });
    await b.put(envelope());
    expect(await b.next()).toMatchObject({
      outcome: 'requeued',
      delayMs: 30_000,
      error: { code: 'HANDLER', message: 'db down' },
    });
  });

  it('by the accept list of the queue', async () => {
    const [mail, report] = [job({ name: 'mail', queue: 'mail' }), never('report')];
    const b = bench({ jobs: [mail, report], accepts: { mail: [mail] } });
    await b.put(envelope({ job: 'report', queue: 'mail' }), 'mail'); // by a producer that knows no such list
    expect(await b.next()).toMatchObject({
      id: 'id-0',
      outcome: 'rejected',
      error: { code: 'UNKNOWN_JOB', message: 'Queue "mail" does not accept job "report".' },
    });
    expect((await b.once(mail)).outcome).toBe('acked');
  });

  it('is not what a fault of the key ring does to a good message', async () => {
    const verify = (): never => {
      throw new TypeError('key service is down');
    };
    const b = bench({ jobs: [never()], signing: { ...ring, verify } });
    await b.put(envelope());
    await expect(b.next()).rejects.toThrow('key service is down');
    expect(await b.deadLetters()).toEqual([]);
  });
});

describe('a job that is not known', () => {
  it('is given back without an attempt while it is young: a newer worker may know it', async () => {
    const b = bench({ jobs: [job()] });
    await b.put(envelope({ job: 'tomorrow' }));
    for (let waited = 0; waited < 300_000; waited += 5000) {
      const result = await b.next();
      expect(result).toMatchObject({
        outcome: 'requeued',
        attempt: 1,
        delayMs: 5000,
        error: {
          code: 'UNKNOWN_JOB',
          message: 'No job "tomorrow" is defined here. It is released: a newer worker may know it.',
        },
      });
      b.clock.advance(5000);
    }
    expect(await b.next()).toMatchObject({
      outcome: 'rejected',
      reason: 'rejected',
      attempt: 1,
      error: {
        code: 'UNKNOWN_JOB',
        message: 'No job "tomorrow" is defined here. Deploy the job, then retry it.',
      },
    });
  });

  it('is rejected at once when the grace is 0', async () => {
    const b = bench({ jobs: [job()], unknownJobGraceMs: 0 });
    await b.put(envelope({ job: 'tomorrow' }));
    expect((await b.next()).outcome).toBe('rejected');
  });

  it('named like a member of every object is not known either', async () => {
    const b = bench({ jobs: [job()], unknownJobGraceMs: 0 });
    for (const name of ['constructor', 'toString', '__proto__']) {
      await b.put(envelope({ job: name }));
      expect(await b.next()).toMatchObject({ outcome: 'rejected', error: { code: 'UNKNOWN_JOB' } });
    }
  });
});

describe('expired', () => {
  const short = job({ expiresInMs: 60_000 });
  it('runs a moment before the end', async () => {
    const b = bench({ jobs: [short] });
    await b.client.enqueue(short, {});
    b.clock.advance(59_999);
    expect((await b.next()).outcome).toBe('acked');
  });

  it('is not run from the end on', async () => {
    const b = bench({ jobs: [{ ...short, run: never().run }] });
    await b.client.enqueue(b.app.jobs.get('work') as Job, {});
    b.clock.advance(60_000);
    expect(await b.next()).toMatchObject({
      outcome: 'rejected',
      reason: 'expired',
      error: {
        code: 'EXPIRED',
        message: `The job did not begin before ${new Date(startMs + 60_000).toISOString()}, when it expired.`,
      },
    });
    expect((await b.client.status('id-1'))?.status).toBe('expired');
    expect(await b.deadLetters()).toMatchObject([{ reason: 'expired' }]);
  });
});

describe('a crash loop', () => {
  it('ends in the dead letters after maxRetries + 1 runs that killed their workers', async () => {
    const b = bench({ jobs: [never()] });
    await b.client.enqueue(b.app.jobs.get('work')!, {}, { maxRetries: 2 });
    await crash(b, 3);
    expect(await b.next()).toMatchObject({
      outcome: 'dead-lettered',
      reason: 'crash-loop',
      attempt: 4,
      error: {
        code: 'CRASH_LOOP',
        message: expect.stringMatching(/^All 3 attempts began and none ended: .* isolate: 'process'\.$/),
      },
    });
    const record = await b.client.status('id-1');
    expect(record?.attempts.map(({ outcome }) => outcome)).toEqual([
      'interrupted',
      'interrupted',
      'interrupted',
      'dead-lettered',
    ]);
  });

  it('shorter than that runs, and the handler learns of it', async () => {
    const crashed: boolean[] = [];
    const one = job({ handle: (_, ctx) => void crashed.push(ctx.previouslyCrashed) });
    const b = bench({ jobs: [one] });
    await b.client.enqueue(one, {}, { maxRetries: 2 });
    await crash(b, 2);
    expect(await b.next()).toMatchObject({ outcome: 'acked', attempt: 3 });
    await b.once(one);
    expect(crashed).toEqual([true, false]);
  });

  it('counts the copies before this one', async () => {
    const b = bench({ jobs: [never()] });
    await b.put(envelope({ attempts: 4, maxRetries: 3 }));
    expect(await b.next()).toMatchObject({ reason: 'crash-loop', attempt: 5 });
  });
});

describe('given back', () => {
  it('until its time: a copy of a delayed job that somebody put into the queue early', async () => {
    const b = bench({ jobs: [never()] });
    await b.put(envelope({ schedule: startMs + 90_000 }));
    expect(await b.next()).toMatchObject({ id: 'id-0', outcome: 'requeued', delayMs: 90_000, error: null });
    const [waiting] = await b.backend.admin!.peek('default', 1);
    expect(waiting).toMatchObject({ attempt: 0, readyAt: startMs + 90_000 });
  });

  it('not, when the queue says that it is due: its clock rules, and not that of this host', async () => {
    const b = bench({ jobs: [job()] });
    let queueTime = startMs + 89_000;
    Object.assign(b.backend, { now: async () => queueTime });
    await b.put(envelope({ schedule: startMs + 90_000 }));
    expect(await b.next()).toMatchObject({ outcome: 'requeued', delayMs: 1_000 });
    b.clock.advance(1_000);
    queueTime = startMs + 90_000;
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
  });

  it('not, when the queue says that it may still begin', async () => {
    const b = bench({ jobs: [job()] });
    let queueTime = startMs + 59_999;
    Object.assign(b.backend, { now: async () => queueTime });
    b.clock.advance(3_600_000);
    await b.put(envelope({ identifier: 'one', expiresAt: startMs + 60_000 }));
    expect(await b.next()).toMatchObject({ outcome: 'acked' });
    queueTime = startMs + 60_000;
    await b.put(envelope({ identifier: 'two', expiresAt: startMs + 60_000 }));
    expect(await b.next()).toMatchObject({ outcome: 'rejected', reason: 'expired' });
  });

  it('an unknown job, counted from the moment at which it was due', async () => {
    const b = bench({ jobs: [], unknownJobGraceMs: 60_000 });
    await b.put(envelope({ schedule: startMs + 90_000 }));
    b.clock.advance(90_000);
    expect(await b.next()).toMatchObject({ outcome: 'requeued', error: { code: 'UNKNOWN_JOB' } });
    b.clock.advance(60_000);
    expect(await b.next()).toMatchObject({ outcome: 'rejected', error: { code: 'UNKNOWN_JOB' } });
  });
});

describe('the event of a refused message', () => {
  it('names the message as soon as its envelope is believed', async () => {
    const b = bench({ jobs: [never()] });
    await b.put(envelope({ queue: 'mail' }));
    await b.next();
    await b.put('hello');
    await b.next();
    expect(b.events.map((event) => 'id' in event && event.id)).toEqual(['id-0', '']);
  });
});
