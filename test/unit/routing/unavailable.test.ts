/** Lists of several backends, of which one is away: a SQLite file that is closed. */

import { describe, expect, it } from 'vitest';
import { alert, defineAlerts } from '../../../core/features/alerts/index.ts';
import { connect, createApp, defineSchedule, startWorker } from '../../../core/index.ts';
import { createOperator } from '../../../core/operations/index.ts';
import { createDashboard } from '../../../core/surfaces/dashboard/index.ts';
import { sqliteStore } from '../../../local/backends/sqlite/index.ts';
import { refusal, ring } from '../core/kit.ts';
import { asker } from '../dashboard/kit.ts';
import { createBench } from './kit.ts';

/** A dead letter and a waiting job on each backend, a pause of a job of each, and a worker that has left its metrics. */
async function bench() {
  const it = createBench();
  const { backends, clock, mail, thumb, resize, both } = it;
  const app = createApp({
    jobs: [mail, thumb, resize, both],
    queues: { images: { backend: 'fast' } },
    schedules: [mail, thumb].map((job) =>
      defineSchedule({ name: `every-${job.name}`, job, payload: { n: 1 }, everyMs: 60_000 }),
    ),
    alerts: defineAlerts({ to: [], rules: [alert.backlog({ above: 100 })] }),
    signing: ring,
    clock,
  });
  const client = connect(app, backends);
  for (const job of [mail, thumb]) {
    await client.enqueue(job, { n: -1 });
    await (await startWorker(app, { backend: backends, signals: [], untilIdle: true })).done;
    clock.advance(1);
  }
  const operator = createOperator(client, { actor: 'ann', from: 'desk' });
  for (const job of [mail, thumb]) {
    await operator.jobs.pause(job.name);
    await client.enqueue(job, { n: 1 });
    await client.schedules.upsert({ name: `at-${job.name}`, everyMs: 60_000, job, payload: { n: 1 } });
  }
  const lists = {
    'dead letters': async () => (await operator.deadLetters.page({})).letters,
    groups: async () => (await operator.deadLetters.groups({})).groups,
    limits: async () => (await operator.limits.list({ max: 10 })).limits,
    jobs: async () => (await operator.jobs.list({ status: 'pending' })).jobs,
    stopped: async () => (await operator.jobs.stopped()).stopped,
    schedules: async () => (await operator.schedules.list()).schedules,
    'schedules in code': async () => (await operator.schedules.inCode()).schedules,
    metrics: async () => (await client.metrics()).jobs,
  };
  return { ...it, app, client, operator, lists };
}

const namesIn = (rows: readonly object[]): readonly string[] =>
  rows.map((row) => JSON.stringify(row).match(/mail|thumb/)![0]).toSorted();

/** The calls whose answers say what is missing. */
const calls = ({ client, operator }: Pick<Awaited<ReturnType<typeof bench>>, 'client' | 'operator'>) => [
  operator.deadLetters.page({}),
  operator.deadLetters.groups({}),
  operator.limits.list({ max: 10 }),
  operator.jobs.list(),
  operator.jobs.stopped(),
  operator.workers.list(),
  operator.schedules.list(),
  operator.schedules.inCode(),
  operator.queues.list(),
  operator.batches.list(),
  operator.alerts.list(),
  operator.audit(),
  client.metrics(),
];

describe('a list of several backends', () => {
  it('has the rows of all, each with its backend', async () => {
    const { client, operator, lists } = await bench();
    for (const [name, list] of Object.entries(lists))
      expect([name, namesIn(await list())]).toEqual([name, ['mail', 'thumb']]);
    for (const answer of await Promise.all(calls({ client, operator })))
      expect(answer).not.toHaveProperty('unavailable');
    const { jobs } = await operator.jobs.list();
    expect(jobs.map(({ job, backend }) => `${job} on ${backend}`)).toEqual([
      ...['mail on default', 'thumb on fast', 'thumb on fast', 'mail on default'],
    ]);
  });

  it('has the rows of the others while one is away, and names it with the reason', async () => {
    const { backends, client, operator, lists } = await bench();
    await backends.fast.close();
    for (const [name, list] of Object.entries(lists))
      expect([name, namesIn(await list())]).toEqual([name, ['mail']]);
    for (const answer of await Promise.all(calls({ client, operator })))
      expect(answer.unavailable).toEqual([
        {
          backend: 'fast',
          code: 'BACKEND',
          message: expect.stringMatching(/^SQLite failed while |database is not open$/),
        },
      ]);
  });

  it('pages batches over all, and goes on where one is away', async () => {
    const { app, backends, clock, mail, thumb } = createBench();
    const client = connect(app, backends);
    for (const [n, job] of [mail, thumb, mail, thumb, mail].entries()) {
      await client.batch(`${job.name}s`, [{ n }], { job, id: `batch-${n}` });
      clock.advance(1);
    }
    const { batches } = createOperator(client, { actor: 'ann', from: 'desk' });
    const read = async () => {
      const pages: string[][] = [];
      for (let after: string | undefined; pages.length < 9; ) {
        const page = await batches.list({ max: 2, ...(after !== undefined && { after }) });
        pages.push(page.batches.map(({ id, backend }) => `${id} ${backend}`));
        if (page.next === null) return pages.flat();
        after = page.next;
      }
      return expect.unreachable('The list of batches has no end.');
    };
    expect(await read()).toEqual([
      ...['batch-4 default', 'batch-3 fast', 'batch-2 default', 'batch-1 fast', 'batch-0 default'],
    ]);
    await backends.fast.close();
    expect(await read()).toEqual(['batch-4 default', 'batch-2 default', 'batch-0 default']);
  });

  it('pauses a queue on the others while one of its backends is away, and says so', async () => {
    const { app, backends } = createBench({ queues: { images: { backends: ['default', 'fast'] } } });
    const operator = createOperator(connect(app, backends), { actor: 'ann', from: 'desk' });
    await backends.fast.close();
    expect((await refusal(() => operator.queues.pause('images'))).code).toBe('BACKEND');
    expect(await backends.default.admin!.stats('images')).toMatchObject([{ paused: true }]);
  });

  it('steers a queue that the app does not name where it is', async () => {
    const { app, backends, mail } = createBench();
    const client = connect(app, backends);
    const old = connect(createApp({ jobs: [mail], queues: { old: {} }, signing: ring }), backends.fast);
    await old.enqueue(mail, { n: 1 }, { queue: 'old' });
    await createOperator(client, { actor: 'ann', from: 'desk' }).queues.pause('old');
    expect(await backends.fast.admin!.stats('old')).toMatchObject([{ paused: true }]);
    expect(await backends.default.admin!.stats('old')).not.toMatchObject([{ paused: true }]);
  });

  it('retries and discards dead letters of the others, and names the one that is away', async () => {
    const { backends, operator } = await bench();
    const ids = (await operator.deadLetters.page({})).letters.map(({ id }) => id);
    await backends.fast.close();
    const away = [{ backend: 'fast', code: 'BACKEND', message: expect.any(String) }];
    expect(await operator.deadLetters.retry({ filter: {} }, { dryRun: true })).toMatchObject({
      ...{ total: 1, unavailable: away },
    });
    expect(await operator.deadLetters.discard({ ids })).toMatchObject({
      ...{ done: 1, missing: [expect.any(String)], unavailable: away },
    });
  });

  it('is refused when none answers, with the codes of all', async () => {
    const { app, backends } = await bench();
    const away = { default: backends.fast, fast: backends.fast };
    await backends.fast.close();
    const client = connect(app, away);
    const operator = createOperator(client, { actor: 'ann', from: 'desk' });
    const { code, message } = await refusal(() => operator.deadLetters.page({}));
    expect([code, message]).toEqual([
      'BACKEND',
      expect.stringMatching(/^No backend answers\. default: BACKEND: .* fast: BACKEND: /),
    ]);
  });

  it('ends for a reader of pages although one is away, and goes on where it is back', async () => {
    const { app, backends, client, clock, operator, mail, thumb } = await bench();
    clock.advance(1);
    for (const job of [mail, thumb]) for (let n = 2; n < 5; n++) await client.enqueue(job, { n });
    let isAway = true;
    const { records } = client.backends.get('fast')!.stores;
    const page: typeof records.page = (asked) =>
      isAway ? Promise.reject(new Error('connect ECONNREFUSED')) : records.page(asked);
    const stores = { ...client.backends.get('fast')!.stores, records: { ...records, page } };
    const shaky = connect(app, { ...backends, fast: { ...backends.fast, stores } });
    const read = createOperator(shaky, { actor: 'ann', from: 'desk' }).jobs;
    const first = await read.list({}, { max: 2 });
    expect([namesIn(first.jobs), first.unavailable?.length]).toEqual([['mail', 'mail'], 1]);
    isAway = false;
    const rest = await read.list({}, { max: 100, after: first.next! });
    expect([namesIn(rest.jobs).length, rest.next]).toEqual([8, null]);
    isAway = true;
    for (let after: string | undefined, pages = 0; pages < 9; pages++) {
      const { next } = await read.list({}, { max: 2, ...(after && { after }) });
      if (next === null) return;
      after = next;
    }
    expect.unreachable(`The list of ${(await operator.jobs.list()).jobs.length} jobs has no end.`);
  });

  it('waits for a silent backend for 10 s', async () => {
    const { app, backends, clock } = await bench();
    const silent = {
      ...backends.fast.stores!,
      workers: { ...backends.fast.stores!.workers!, list: silence },
    };
    const client = connect(app, { ...backends, fast: { ...backends.fast, stores: silent } });
    const listed = createOperator(client, { actor: 'ann', from: 'desk' }).workers.list();
    await new Promise(setImmediate);
    clock.advance(10_000);
    expect((await listed).unavailable).toEqual([
      { backend: 'fast', code: 'BACKEND', message: 'It gave no answer for 10 s.' },
    ]);
  });

  it('shows no credentials of an address in the reason', async () => {
    const { app, backends } = await bench();
    const refused = () => Promise.reject(new Error('no route to postgres://app:pass@db.example:5432/jobs'));
    const stores = {
      ...backends.fast.stores!,
      workers: { ...backends.fast.stores!.workers!, list: refused },
    };
    const client = connect(app, { ...backends, fast: { ...backends.fast, stores } });
    const { unavailable } = await createOperator(client, { actor: 'ann', from: 'desk' }).workers.list();
    expect(unavailable?.[0]?.message).toContain('postgres://***@db.example:5432/jobs');
  });

  it('refuses a wrong call as ever', async () => {
    const { operator } = await bench();
    for (const call of [
      () => operator.jobs.list({}, { after: 'nonsense' }),
      () => operator.audit({ after: 'nonsense' }),
      () => operator.limits.list({ max: 0 }),
      () => operator.schedules.list({ max: 0 }),
    ])
      expect((await refusal(call)).code).toBe('OPTION');
  });

  it('has the rows of a store that two backends share once', async () => {
    const { app, backends, clock, mail, thumb } = createBench();
    const shared = sqliteStore({ path: ':memory:', clock });
    const bare = { ...backends.fast, stores: undefined as never };
    const client = connect(app, { default: bare, fast: bare }, { store: { default: shared, fast: shared } });
    await client.enqueue(mail, { n: 1 });
    await client.enqueue(thumb, { n: 1 });
    const operator = createOperator(client, { actor: 'ann', from: 'desk' });
    await operator.queues.pause('images');
    expect(namesIn((await operator.jobs.list()).jobs)).toEqual(['mail', 'thumb']);
    expect((await operator.audit()).entries.map(({ phase }) => phase)).toEqual(['done', 'begun']);
    for (const job of [mail, thumb]) await operator.jobs.pause(job.name);
    const limits = async (page = {}) => (await operator.limits.list(page)).limits.map(({ key }) => key);
    expect(await limits()).toEqual(['pause:mail', 'pause:thumb']);
    expect(await limits({ max: 1, after: 'pause:mail' })).toEqual(['pause:thumb']);
    await shared.close?.();
  });
});

const silence = (): Promise<never> => new Promise(() => {});

describe('the dashboard of several backends', () => {
  async function page(role: 'reader' | 'operator' = 'reader') {
    const it = await bench();
    const dashboard = createDashboard(it.client, { authorize: () => ({ actor: 'ann', role }) });
    const ask = asker(dashboard);
    const get = async (path: string) => (await ask(`/api/${path}`)).body;
    return { ...it, dashboard, ask, get };
  }

  const lists = [
    'dead',
    'dead/groups',
    'limits',
    'jobs',
    'queues',
    'workers',
    'stopped',
    'audit',
    'overview',
    'batches',
    'schedules',
    'alerts',
  ];

  it('names the backends, and is for one of them with its name in the query', async () => {
    const { get, ask } = await page();
    expect(await get('session')).toMatchObject({
      backend: 'default (memory), fast (sqlite)',
      backends: ['default', 'fast'],
    });
    const rows = ({ rows, jobs, letters, limits }: Record<string, { backend: string }[]>) =>
      new Set((rows ?? jobs ?? letters ?? limits)!.map(({ backend }) => backend));
    for (const path of ['dead', 'limits', 'jobs', 'queues', 'stopped', 'capabilities']) {
      expect([path, rows(await get(path))]).toEqual([path, new Set(['default', 'fast'])]);
      expect([path, rows(await get(`${path}?backend=fast`))]).toEqual([path, new Set(['fast'])]);
    }
    const jobsOf = async (query: string) =>
      (await get(`overview?last=hour${query}`)).numbers.jobs
        .map(({ job }: { job: string }) => job)
        .toSorted();
    expect([await jobsOf(''), await jobsOf('&backend=fast')]).toEqual([['mail', 'thumb'], ['thumb']]);
    expect((await ask('/api/jobs?backend=fats')).body).toMatchObject({
      status: 400,
      detail: expect.stringContaining('Did you mean "fast"?'),
    });
  });

  it('shows the rest of each list while one is away, and says which', async () => {
    const { backends, get } = await page();
    await backends.fast.close();
    for (const path of lists)
      expect([path, (await get(path)).unavailable]).toEqual([
        path,
        [{ backend: 'fast', code: 'BACKEND', message: expect.any(String) }],
      ]);
    const { queues, error, unavailable } = await get('live');
    expect([queues.length, error, unavailable.length]).toEqual([1, null, 1]);
  });

  it('steers a queue on the backend of its row only', async () => {
    const { ask, get, backends, client, dashboard } = await page('operator');
    const headers = { 'x-longshore-token': (await get('session')).token };
    expect((await ask('/api/queues/default/pause?backend=fast', { headers, body: {} })).status).toBe(200);
    const paused = await Promise.all(
      Object.values(backends).map(async ({ admin }) => (await admin!.stats('default'))[0]?.paused),
    );
    expect(paused).toEqual([false, true]);
    expect((await client.backends.get('fast')!.stores.audit!.page({})).entries[0]).toMatchObject({
      ...{ action: 'queue.pause', actor: 'ann', phase: 'done' },
    });
    dashboard.close();
  });

  it('lets a reader change nothing, on the second backend neither', async () => {
    const { ask, get, backends } = await page('reader');
    const headers = { 'x-longshore-token': (await get('session')).token };
    for (const query of ['', '?backend=fast'])
      for (const path of [
        'queues/default/pause',
        'queues/images/clear',
        'dead/discard',
        'stopped/thumb/resume',
      ])
        expect((await ask(`/api/${path}${query}`, { headers, body: { filter: {} } })).body).toMatchObject({
          ...{ status: 403, code: 'FORBIDDEN' },
        });
    expect(await backends.fast.admin!.stats('default')).toMatchObject([{ paused: false, dead: 1 }]);
  });
});
