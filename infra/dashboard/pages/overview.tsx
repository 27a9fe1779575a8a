import type { Live, Overview as OverviewData } from '../../../core/dashboard/api.ts';
import type { JobReport, MetricPoint } from '../../../core/metrics/report.ts';
import { isUnavailable } from '../data/client.ts';
import { bytes, count, duration, percent, rate, shortCount } from '../data/format.ts';
import { keptMs, live } from '../data/live.ts';
import { useLoad } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { useStore } from '../data/store.ts';
import { Chart } from '../parts/chart.tsx';
import { Empty, Head, Panel, Shown } from '../parts/frame.tsx';
import { Badge } from '../parts/status.tsx';
import { Table } from '../parts/table.tsx';
import { Text } from '../parts/text.tsx';
import type { ViewProps } from './page.ts';

const periods = { live: 'Live', hour: 'Last hour', day: 'Last day', month: 'Last month' } as const;

export function Overview({ query }: ViewProps) {
  const asked = query.get('last') ?? 'live';
  const last = Object.hasOwn(periods, asked) ? (asked as keyof typeof periods) : 'live';
  const loaded = useLoad<OverviewData>(
    `overview?last=${last}`,
    last === 'live' || last === 'hour' ? 10_000 : 60_000,
  );
  const state = useStore(live);
  const now = state.live ?? loaded.value?.live ?? null;
  return (
    <>
      <Head title="Overview">
        <nav class="choice" aria-label="Period">
          {Object.entries(periods).map(([name, title]) => (
            <a key={name} href={linkTo([], { last: name })} aria-current={name === last ? 'true' : undefined}>
              {title}
            </a>
          ))}
        </nav>
      </Head>
      {now !== null && <Tiles now={now} />}
      {last === 'live' && <LiveCharts recent={state.recent} />}
      <Shown loaded={loaded}>
        {({ numbers }) =>
          isUnavailable(numbers) ? (
            <Empty>{numbers.unavailable}</Empty>
          ) : (
            <>
              {last !== 'live' && <PeriodCharts series={numbers.series} />}
              <Panel title={`Jobs, ${last === 'live' ? 'last hour' : periods[last].toLowerCase()}`}>
                <JobTable jobs={numbers.jobs} />
              </Panel>
            </>
          )
        }
      </Shown>
    </>
  );
}

function Tiles({ now: { queues, workers, rates } }: { now: Live }) {
  const sum = (of: 'ready' | 'delayed' | 'leased' | 'dead'): number =>
    queues.reduce((all, queue) => all + queue[of], 0);
  const oldest = queues.reduce<number | null>(
    (most, { oldestReadyMs: ms }) => (ms === null ? most : Math.max(ms, most ?? 0)),
    null,
  );
  const dead = sum('dead');
  const tiles: readonly (readonly [name: string, value: string, link: string, tone?: string | undefined])[] =
    [
      [
        'Done / min',
        rates === null ? '–' : rate(rates.donePerMinute),
        linkTo(['jobs'], { status: 'completed' }),
      ],
      [
        'Failed / min',
        rates === null ? '–' : rate(rates.failedPerMinute),
        linkTo(['jobs'], { status: 'failed' }),
        rates !== null && rates.failedPerMinute > 0 ? 'bad' : undefined,
      ],
      [
        'Retried / min',
        rates === null ? '–' : rate(rates.retriedPerMinute),
        linkTo(['jobs'], { status: 'retrying' }),
      ],
      ['Waiting', count(sum('ready')), linkTo(['queues'])],
      ['For later', count(sum('delayed')), linkTo(['queues'])],
      ['Running', `${count(workers.running)} of ${count(workers.concurrency)}`, linkTo(['workers'])],
      ['Oldest waits', oldest === null ? '–' : duration(oldest), linkTo(['queues'])],
      ['Dead letters', count(dead), linkTo(['dead']), dead > 0 ? 'bad' : undefined],
      [
        'Workers up',
        workers.unhealthy === 0
          ? count(workers.healthy)
          : `${count(workers.healthy)} of ${count(workers.healthy + workers.unhealthy)}`,
        linkTo(['workers']),
        workers.unhealthy > 0 ? 'warn' : undefined,
      ],
    ];
  return (
    <ul class="tiles">
      {tiles.map(([name, value, link, tone]) => (
        <li key={name}>
          <a href={link}>
            <span class="name">{name}</span>
            <span class={tone ? `value ${tone}` : 'value'}>{value}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

const total = (tick: Live, of: 'ready' | 'delayed' | 'leased'): number =>
  tick.queues.reduce((all, queue) => all + queue[of], 0);

function LiveCharts({ recent }: { recent: readonly Live[] }) {
  const times = recent.map(({ at }) => at);
  const hasRates = recent.some(({ rates }) => rates !== null);
  const oldest = (tick: Live): number | null =>
    tick.queues.reduce<number>((most, { oldestReadyMs }) => Math.max(most, oldestReadyMs ?? 0), 0);
  return (
    <div class="charts">
      {hasRates && (
        <Chart
          title="Per minute"
          times={times}
          windowMs={keptMs}
          format={rateOf}
          series={[
            {
              label: 'done',
              color: '--good',
              values: recent.map(({ rates }) => rates?.donePerMinute ?? null),
              filled: true,
            },
            {
              label: 'failed',
              color: '--bad',
              values: recent.map(({ rates }) => rates?.failedPerMinute ?? null),
            },
            {
              label: 'retried',
              color: '--warn',
              values: recent.map(({ rates }) => rates?.retriedPerMinute ?? null),
            },
          ]}
        />
      )}
      <Chart
        title="Depth"
        times={times}
        windowMs={keptMs}
        format={shortCount}
        series={[
          {
            label: 'waiting',
            color: '--accent',
            values: recent.map((tick) => total(tick, 'ready')),
            filled: true,
          },
          { label: 'for later', color: '--violet', values: recent.map((tick) => total(tick, 'delayed')) },
          { label: 'running', color: '--good', values: recent.map((tick) => total(tick, 'leased')) },
        ]}
      />
      <Chart
        title="How long the oldest waits"
        times={times}
        windowMs={keptMs}
        format={duration}
        series={[{ label: 'oldest', color: '--warn', values: recent.map(oldest), filled: true }]}
      />
    </div>
  );
}

const rateOf = (n: number): string => (n >= 1_000 ? shortCount(n) : rate(n));

function PeriodCharts({ series }: { series: readonly MetricPoint[] }) {
  const times = series.map(({ at }) => at);
  const of = (read: (point: MetricPoint) => number | null): (number | null)[] => series.map(read);
  return (
    <div class="charts">
      <Chart
        title="Attempts"
        times={times}
        format={shortCount}
        series={[
          { label: 'done', color: '--good', values: of(({ done }) => done), filled: true },
          { label: 'retried', color: '--warn', values: of(({ retried }) => retried) },
          { label: 'dead', color: '--bad', values: of(({ dead }) => dead) },
        ]}
      />
      <Chart
        title="How long they run"
        times={times}
        format={duration}
        series={[
          { label: 'p50', color: '--accent', values: of(({ runMs }) => runMs?.p50 ?? null) },
          { label: 'p95', color: '--violet', values: of(({ runMs }) => runMs?.p95 ?? null) },
        ]}
      />
      <Chart
        title="How long they wait"
        times={times}
        format={duration}
        series={[
          { label: 'p50', color: '--accent', values: of(({ waitMs }) => waitMs?.p50 ?? null) },
          { label: 'p95', color: '--violet', values: of(({ waitMs }) => waitMs?.p95 ?? null) },
        ]}
      />
    </div>
  );
}

const orNone = (value: number | null | undefined, format: (n: number) => string): string =>
  value === null || value === undefined ? '–' : format(value);

function JobTable({ jobs }: { jobs: readonly JobReport[] }) {
  return (
    <Table
      caption="Numbers of each job"
      rows={jobs}
      keyOf={({ queue, job }) => `${queue} ${job}`}
      empty="Nothing ran in this time. Enqueue a job, and start a worker for its queue."
      columns={[
        {
          name: 'Job',
          of: ({ job }) =>
            job === '' ? (
              'not known here'
            ) : (
              <a href={linkTo(['jobs'], { job })}>
                <Text value={job} />
              </a>
            ),
        },
        { name: 'Queue', of: ({ queue }) => <Text value={queue} /> },
        { name: 'Done', numeric: true, of: ({ done }) => count(done) },
        { name: 'Retried', numeric: true, of: ({ retried }) => count(retried) },
        {
          name: 'Dead',
          numeric: true,
          of: ({ dead }) => <span class={dead > 0 ? 'bad' : ''}>{count(dead)}</span>,
        },
        { name: 'Success', numeric: true, of: ({ successRate }) => orNone(successRate, percent) },
        { name: 'Runs p50', numeric: true, of: ({ runMs }) => orNone(runMs?.p50, duration) },
        { name: 'p95', numeric: true, of: ({ runMs }) => orNone(runMs?.p95, duration) },
        { name: 'Waits p95', numeric: true, of: ({ waitMs }) => orNone(waitMs?.p95, duration) },
        { name: 'Memory', numeric: true, of: ({ memory }) => orNone(memory?.average, bytes) },
        {
          name: 'Than before',
          of: ({ flags }) =>
            flags.length === 0
              ? '–'
              : flags.map(({ kind, now, past }) => (
                  <Badge
                    key={kind}
                    tone={kind === 'slower' ? 'warn' : 'bad'}
                    word={
                      kind === 'slower'
                        ? `slower: ${duration(now)}, was ${duration(past)}`
                        : `failing: ${percent(now)}, was ${percent(past)}`
                    }
                  />
                )),
        },
      ]}
    />
  );
}
