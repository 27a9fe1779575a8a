/** Each condition: what it is true of, and what it says where it cannot know. */

import { describe, expect, it } from 'vitest';
import type { QueueStats } from '../../../core/contract/admin.ts';
import { alert } from '../../../core/features/alerts/index.ts';
import { newTally, packTally } from '../../../core/features/metrics/tally.ts';
import { tick } from '../../../core/features/schedules/feature.ts';
import { pauseSchedule, resumeSchedule } from '../../../core/features/schedules/pause.ts';
import type { AlertRule } from '../../../core/kernel/app/alerts.ts';
import { defineSchedule } from '../../../core/kernel/app/schedule.ts';
import type { Client } from '../../../core/kernel/enqueue/client.ts';
import { instead, look, minuteMs, saying, stats, watched, work } from './kit.ts';

/** Looks with this rule until it must have fired; answers what was sent. */
async function texts(
  rule: AlertRule,
  prepare: (w: ReturnType<typeof watched>) => Client | Promise<Client>,
  where: 'worker' | 'function' = 'worker',
): Promise<string[]> {
  const w = watched({ rules: [{ ...rule, forMs: 0 }] });
  await w.alerts.evaluate(await prepare(w), where);
  return w.sent.map(({ text }) => text);
}

describe('the conditions of a queue', () => {
  it.each<[string, AlertRule, Partial<QueueStats>, string[]]>([
    ['backlog', alert.backlog(), { ready: 1_001 }, ['"default": 1,001 jobs wait, more than 1,000']],
    ['backlog', alert.backlog(), { ready: 1_000, delayed: 9_000 }, []],
    ['backlog', alert.backlog({ queue: 'mail' }), { ready: 5_000 }, []],
    [
      'stuck',
      alert.stuck(),
      { ready: 1, oldestReadyMs: 61 * minuteMs },
      ['"default": 61 min is the age of the oldest ready job, more than 60 min'],
    ],
    ['stuck', alert.stuck(), { ready: 1, oldestReadyMs: 60 * minuteMs }, []],
    [
      'depth',
      alert.depth(),
      { ready: 4_000, delayed: 5_000, leased: 1_001 },
      ['"default": 10,001 jobs are in the queue, more than 10,000'],
    ],
    ['deadLetters', alert.deadLetters(), { dead: 101 }, ['"default": 101 dead letters, more than 100']],
    ['deadLetters', alert.deadLetters({ above: 500 }), { dead: 101 }, []],
  ])('%s (%#)', async (_, rule, parts, expected) => {
    expect(await texts(rule, ({ client }) => saying(client, stats(parts)))).toEqual(expected);
  });

  it('are looked at queue by queue', async () => {
    const both = (w: ReturnType<typeof watched>) =>
      saying(w.client, stats({ queue: 'mail', ready: 9 }), stats({ queue: 'pdf', ready: 8 }), stats());
    expect(await texts(alert.backlog({ above: 5 }), both)).toEqual([
      '"mail": 9 jobs wait, more than 5',
      '"pdf": 8 jobs wait, more than 5',
    ]);
  });
});

describe('the conditions of attempts', () => {
  type Minute = readonly [ago: number, ends: { done?: number; retried?: number; dead?: number }];

  /** Numbers as workers write them: per minute, this many minutes ago. */
  const counted =
    (...minutes: readonly Minute[]) =>
    async ({ client, clock }: ReturnType<typeof watched>): Promise<Client> => {
      const thisMinute = clock.now() - (clock.now() % minuteMs);
      await client.stores.metrics!.write(
        minutes.map(([ago, ends], i) => ({
          step: 'minute',
          at: thisMinute - ago * minuteMs,
          queue: 'default',
          job: `job-${i}`,
          source: 'worker-1',
          body: packTally({ ...newTally(), ...ends }),
        })),
      );
      return client;
    };

  it.each<[string, AlertRule, readonly Minute[], string[]]>([
    [
      'failures: retried and dead ones of all jobs, of the last five whole minutes',
      alert.failures(),
      [
        [1, { retried: 30, done: 900 }],
        [5, { dead: 25 }],
        [6, { retried: 1_000 }],
        [0, { retried: 1_000 }],
      ],
      ['"default": 11 attempts fail in a minute, more than 10'],
    ],
    ['failures', alert.failures(), [[1, { retried: 50 }]], []],
    [
      'failureRatio',
      alert.failureRatio(),
      [[14, { done: 94, retried: 4, dead: 2 }]],
      ['"default": 6 % of 100 attempts failed, more than 5 %'],
    ],
    ['failureRatio', alert.failureRatio(), [[14, { done: 95, retried: 5 }]], []],
    ['failureRatio: of a handful it says nothing', alert.failureRatio(), [[1, { retried: 19 }]], []],
    [
      'deadLetterRate',
      alert.deadLetterRate(),
      [
        [59, { dead: 6 }],
        [1, { dead: 5, retried: 100 }],
      ],
      ['"default": 11 jobs died within an hour, more than 10'],
    ],
    ['deadLetterRate', alert.deadLetterRate(), [[61, { dead: 100 }]], []],
  ])('%s (%#)', async (_, rule, minutes, expected) => {
    expect(await texts(rule, counted(...minutes))).toEqual(expected);
  });

  it('say when they begin where no numbers are kept, once', async () => {
    const w = watched({ rules: [alert.failures(), alert.failureRatio(), alert.backlog()] });
    const { metrics: _, ...stores } = w.client.stores;
    const client = { ...w.client, stores };
    for (let i = 0; i < 3; i++) {
      await look({ alerts: w.alerts, client });
      w.clock.advance(minuteMs);
    }
    expect(w.eventsOf('alert.unavailable')).toEqual([
      {
        type: 'alert.unavailable',
        alert: 'QueueHighFailureRate, QueueFailureRatioHigh',
        message:
          'Backend "memory" keeps no numbers of attempts: give it a store that does, for example sqliteStore().',
      },
    ]);
  });
});

describe('what a backend cannot tell', () => {
  it('is said, and neither begins nor ends an alert', async () => {
    const w = watched({ rules: [alert.stuck({ above: minuteMs, forMs: 0 })] });
    const old = stats({ ready: 1, oldestReadyMs: 2 * minuteMs });
    await look({ alerts: w.alerts, client: saying(w.client, old) });
    expect(w.told()).toEqual(['firing QueueJobStuck default']);
    for (let i = 0; i < 3; i++) {
      w.clock.advance(minuteMs);
      await look({ alerts: w.alerts, client: saying(w.client, stats({ ready: 1 })) });
    }
    expect(w.told()).toEqual([]);
    expect(w.eventsOf('alert.unavailable')).toMatchObject([
      { alert: 'QueueJobStuck', message: 'memory does not tell how long jobs wait' },
    ]);
    w.clock.advance(minuteMs);
    await look({ alerts: w.alerts, client: saying(w.client, stats()) });
    expect(w.told()).toEqual(['resolved QueueJobStuck default']);
  });

  it('is said of a queue that neither the app nor the backend knows', async () => {
    const rules = ['nope', 'default', 'used'].flatMap((queue) => [
      alert.backlog({ name: `backlog-${queue}`, queue }),
      alert.failureRatio({ name: `ratio-${queue}`, queue }),
    ]);
    const w = watched({ rules });
    await look({ alerts: w.alerts, client: saying(w.client, stats({ queue: 'used' })) });
    expect(w.eventsOf('alert.unavailable')).toMatchObject([
      { alert: 'backlog-nope, ratio-nope', message: 'there is no queue "nope" here' },
    ]);
    expect(w.told()).toEqual([]);
  });

  it('is said of a backend without administration', async () => {
    const w = watched({ rules: [alert.backlog(), alert.backendDown()] });
    const { admin: _, ...backend } = w.backend;
    await look({ alerts: w.alerts, client: { ...w.client, backend } });
    expect(w.eventsOf('alert.unavailable')).toMatchObject([
      {
        alert: 'QueueBacklogHigh, BackendDown',
        message: expect.stringContaining('cannot count the jobs in'),
      },
    ]);
  });
});

describe('backendDown', () => {
  const refusing =
    (code: string) =>
    ({ client }: ReturnType<typeof watched>): Client => {
      const error = Object.assign(new Error('connect to db.internal as root:hush'), { code });
      const admin = { ...client.backend.admin!, stats: () => Promise.reject(error) };
      return instead(client, { backend: { admin } });
    };

  it('says the code of the failure and nothing else of it', async () => {
    expect(await texts(alert.backendDown(), refusing('ECONNREFUSED'))).toEqual([
      'memory does not answer: ECONNREFUSED',
    ]);
  });

  it('asks, and does not wait for ever', async () => {
    const w = watched({ rules: [alert.backendDown({ forMs: 0 })] });
    let asked = () => {};
    const reached = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const admin = {
      ...w.backend.admin!,
      stats() {
        asked();
        return new Promise<never>(() => {});
      },
    };
    const looking = look({ alerts: w.alerts, client: instead(w.client, { backend: { admin } }) });
    await reached;
    w.clock.advance(10_000);
    await looking;
    expect(w.sent.map(({ text }) => text)).toEqual(['memory does not answer: TIMEOUT']);
  });
});

describe('withoutWorker', () => {
  const beat = (w: ReturnType<typeof watched>, queues: readonly string[], seenAgoMs: number) =>
    w.client.stores.workers.heartbeat({
      id: queues.join('-'),
      host: 'h',
      pid: 1,
      queues,
      concurrency: 1,
      startedAt: w.clock.now() - seenAgoMs,
      seenAt: w.clock.now() - seenAgoMs,
      running: 0,
      counts: { acked: 0, requeued: 0, 'dead-lettered': 0, rejected: 0, 'skipped-idempotent': 0 },
      memoryBytes: 1,
    });

  it.each<[string, readonly string[], number, string[]]>([
    ['a worker of the queue', ['default', 'mail'], 10_000, []],
    ['a worker of other queues', ['mail'], 0, ['"default": no worker takes its jobs']],
    ['a worker that was not seen for 16 s', ['default'], 16_000, ['"default": no worker takes its jobs']],
  ])('%s', async (_, queues, agoMs, expected) => {
    const prepare = async (w: ReturnType<typeof watched>) => {
      await beat(w, queues, agoMs);
      return w.client;
    };
    expect(await texts(alert.withoutWorker(), prepare)).toEqual(expected);
  });

  it.each([-60_000, 60_000])(
    'compares hosts, also where the clock of the queue is off by %d ms',
    async (ms) => {
      const prepare = async (w: ReturnType<typeof watched>) => {
        await beat(w, ['default'], 10_000);
        const now = async () => w.clock.now() + ms;
        return instead(w.client, { backend: { now } });
      };
      expect(await texts(alert.withoutWorker(), prepare)).toEqual([]);
      const gone = async (w: ReturnType<typeof watched>) => {
        await beat(w, ['default'], 20_000);
        const now = async () => w.clock.now() + ms;
        return instead(w.client, { backend: { now } });
      };
      expect(await texts(alert.withoutWorker(), gone)).toHaveLength(1);
    },
  );

  it('says nothing where functions run the jobs', async () => {
    expect(await texts(alert.withoutWorker(), ({ client }) => client, 'function')).toEqual([]);
    expect(await texts(alert.withoutWorker(), ({ client }) => client)).toHaveLength(1);
  });
});

describe('scheduleMissed', () => {
  const schedules = [
    defineSchedule({ name: 'hourly', everyMs: 60 * minuteMs, job: work, payload: {} }),
    defineSchedule({ name: 'daily', cron: '0 2 * * *', job: work, payload: {} }),
  ];
  const rules = [alert.scheduleMissed()];

  it('is a schedule that is due and that nothing ticks, from two to seven minutes after it was due', async () => {
    const w = watched({ rules }, { schedules });
    await tick(w.app, w.client);
    await w.minutes(61);
    expect(w.told()).toEqual([]);
    await w.minutes(6);
    expect(w.sent.map(({ alert, text }) => [alert, text])).toEqual([
      ['ScheduleMissed', 'schedule "hourly" has been due for 7 min, and nothing ticks it'],
    ]);
    w.told();
    await tick(w.app, w.client);
    await w.minutes(1);
    expect(w.told()).toEqual(['resolved ScheduleMissed hourly']);
  });

  it('says nothing while somebody ticks, also where the job is left out', async () => {
    const w = watched({ rules }, { schedules });
    for (let i = 0; i < 180; i++) {
      await tick(w.app, w.client);
      await w.minutes(1);
    }
    expect(w.told()).toEqual([]);
  });

  it('says nothing of a schedule that is paused, and the rest as soon as it is resumed', async () => {
    const w = watched({ rules }, { schedules: [schedules[0]!] });
    await tick(w.app, w.client);
    await pauseSchedule(w.client, 'hourly');
    await w.minutes(200);
    expect(w.told()).toEqual([]);
    await resumeSchedule(w.client, 'hourly');
    await w.minutes(30);
    expect(w.told()).toEqual([]);
    await w.minutes(20);
    expect(w.told()).toEqual(['firing ScheduleMissed hourly']);
  });

  it('is a schedule that nothing has ever ticked', async () => {
    const w = watched({ rules }, { schedules });
    await w.look();
    await w.minutes(5);
    expect(w.sent.map(({ text }) => text)).toEqual([
      'schedule "hourly" was never ticked, and nothing ticks it',
      'schedule "daily" was never ticked, and nothing ticks it',
    ]);
  });

  it('reads the cursor of a schedule only when a moment has passed since', async () => {
    const w = watched({ rules }, { schedules: [schedules[0]!] });
    await tick(w.app, w.client);
    let reads = 0;
    const { keys } = w.client.stores;
    const counting = {
      ...keys,
      claim(...call: Parameters<typeof keys.claim>) {
        if (call[0] === 'schedule:hourly') reads++;
        return keys.claim(...call);
      },
    };
    const client = instead(w.client, { stores: { keys: counting } });
    for (let i = 0; i < 180; i++) {
      w.clock.advance(minuteMs);
      if (i % 60 === 59) await tick(w.app, w.client);
      await look({ alerts: w.alerts, client });
    }
    expect(reads).toBe(3);
    expect(w.told()).toEqual([]);
  });

  it('keeps no tick from its moment, on however many hosts somebody looks', async () => {
    const w = watched({ rules }, { schedules: [schedules[0]!] });
    await tick(w.app, w.client);
    for (let i = 0; i < 20; i++) {
      w.clock.advance(60 * minuteMs);
      const [ids] = await Promise.all([tick(w.app, w.client), w.look()]);
      const late = await tick(w.app, w.client);
      expect([...ids, ...late]).toHaveLength(1);
      expect(late).toEqual([]);
    }
  });
});

describe('a condition of your own', () => {
  it('fires while it is true, with its summary as text', async () => {
    let open = 7;
    const w = watched({
      rules: [
        alert.custom({
          name: 'OpenInvoices',
          summary: 'more than 5 invoices are open',
          when: () => open > 5,
        }),
      ],
    });
    await w.look();
    open = 5;
    await w.minutes(1);
    expect(w.sent.map(({ state, text, severity }) => [state, text, severity])).toEqual([
      ['firing', 'more than 5 invoices are open', 'warning'],
      ['resolved', 'more than 5 invoices are open', 'warning'],
    ]);
  });

  it('that throws is said once, and keeps no other from being looked at', async () => {
    const w = watched({
      rules: [
        alert.custom({
          name: 'Broken',
          when: () => {
            throw new Error('no such table');
          },
        }),
        alert.backlog({ above: 2, forMs: 0 }),
      ],
    });
    await w.backlog(3);
    await w.look();
    await w.minutes(3);
    expect(w.told()).toEqual(['firing QueueBacklogHigh default']);
    expect(w.eventsOf('alert.unavailable')).toMatchObject([{ alert: 'Broken', message: 'no such table' }]);
  });
});
