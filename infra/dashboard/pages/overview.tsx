import type { JobReport, MetricPoint } from '../../../core/kernel/app/metric-report.ts';
import type { Live, Overview as OverviewData } from '../../../core/surfaces/dashboard/api.ts';
import { isUnavailable } from '../data/client.ts';
import { bytes, count, duration, durationSteps, orNone, percent, rate, shortCount } from '../data/format.ts';
import { keptMs, live } from '../data/live.ts';
import { useLoad } from '../data/load.ts';
import { linkTo } from '../data/route.ts';
import { useStore } from '../data/store.ts';
import { Chart, type Series } from '../parts/chart.tsx';
import { Empty, Head, Panel, Shown } from '../parts/frame.tsx';
import { Badge } from '../parts/status.tsx';
import { StoppedTable } from '../parts/stopped-jobs.tsx';
import { Table } from '../parts/table.tsx';
import { Text, TextLink } from '../parts/text.tsx';
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
      {(loaded.value?.stopped.length ?? 0) > 0 && (
        <Panel title="Stopped jobs">
          <StoppedTable stopped={loaded.value!.stopped} onDone={loaded.reload} />
        </Panel>
      )}
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

const sumOf = ({ queues }: Live, of: 'ready' | 'delayed' | 'leased' | 'dead'): number =>
  queues.reduce((sum, queue) => sum + queue[of], 0);

const oldestOf = ({ queues }: Live): number | null =>
  queues.reduce<number | null>(
    (most, { oldestReadyMs: ms }) => (ms === null ? most : Math.max(ms, most ?? 0)),
    null,
  );

type Tile = readonly [name: string, value: string, link: string, tone?: string | false];

function Tiles({ now }: { now: Live }) {
  const { workers, rates } = now;
  const { healthy, unhealthy } = workers;
  const dead = sumOf(now, 'dead');
  const jobs = (status: string): string => linkTo(['jobs'], { status });
  const queues = linkTo(['queues']);
  const tiles: readonly Tile[] = [
    ['Done / min', orNone(rates?.donePerMinute, rate), jobs('completed')],
    [
      'Failed / min',
      orNone(rates?.failedPerMinute, rate),
      jobs('failed'),
      rates !== null && rates.failedPerMinute > 0 && 'bad',
    ],
    ['Retried / min', orNone(rates?.retriedPerMinute, rate), jobs('retrying')],
    ['Waiting', count(sumOf(now, 'ready')), queues],
    ['For later', count(sumOf(now, 'delayed')), queues],
    ['Running', `${count(workers.running)} of ${count(workers.concurrency)}`, linkTo(['workers'])],
    ['Oldest waits', orNone(oldestOf(now), duration), queues],
    ['Dead letters', count(dead), linkTo(['dead']), dead > 0 && 'bad'],
    [
      'Workers up',
      unhealthy === 0 ? count(healthy) : `${count(healthy)} of ${count(healthy + unhealthy)}`,
      linkTo(['workers']),
      unhealthy > 0 && 'warn',
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

/** Lines of a chart over times, each with a value or none. */
const lines =
  <Moment,>(moments: readonly Moment[]) =>
  (label: string, color: string, of: (moment: Moment) => number | null | undefined): Series => ({
    label,
    color,
    values: moments.map((moment) => of(moment) ?? null),
  });

const filled = (line: Series): Series => ({ ...line, filled: true });

function LiveCharts({ recent }: { recent: readonly Live[] }) {
  const over = { times: recent.map(({ at }) => at), windowMs: keptMs };
  const line = lines(recent);
  return (
    <div class="charts">
      {recent.some(({ rates }) => rates !== null) && (
        <Chart
          title="Per minute"
          {...over}
          format={(n) => (n >= 1_000 ? shortCount(n) : rate(n))}
          series={[
            filled(line('done', '--good', ({ rates }) => rates?.donePerMinute)),
            line('failed', '--bad', ({ rates }) => rates?.failedPerMinute),
            line('retried', '--warn', ({ rates }) => rates?.retriedPerMinute),
          ]}
        />
      )}
      <Chart
        title="Depth"
        {...over}
        format={shortCount}
        series={[
          filled(line('waiting', '--accent', (one) => sumOf(one, 'ready'))),
          line('for later', '--violet', (one) => sumOf(one, 'delayed')),
          line('running', '--good', (one) => sumOf(one, 'leased')),
        ]}
      />
      <Chart
        title="How long the oldest waits"
        {...over}
        format={duration}
        steps={durationSteps}
        series={[filled(line('oldest', '--warn', (one) => oldestOf(one) ?? 0))]}
      />
    </div>
  );
}

function PeriodCharts({ series }: { series: readonly MetricPoint[] }) {
  const times = series.map(({ at }) => at);
  const line = lines(series);
  const spans = (title: string, of: 'runMs' | 'waitMs') => (
    <Chart
      title={title}
      times={times}
      format={duration}
      steps={durationSteps}
      series={[
        line('p50', '--accent', (point) => point[of]?.p50),
        line('p95', '--violet', (point) => point[of]?.p95),
      ]}
    />
  );
  return (
    <div class="charts">
      <Chart
        title="Attempts"
        times={times}
        format={shortCount}
        series={[
          filled(line('done', '--good', ({ done }) => done)),
          line('retried', '--warn', ({ retried }) => retried),
          line('dead', '--bad', ({ dead }) => dead),
        ]}
      />
      {spans('How long they run', 'runMs')}
      {spans('How long they wait', 'waitMs')}
    </div>
  );
}

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
            job === '' ? 'not known here' : <TextLink href={linkTo(['jobs'], { job })} value={job} />,
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
        { name: 'Peak', numeric: true, of: ({ memory }) => orNone(memory?.max, bytes) },
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
