/** `longshore/prometheus`: metrics of an app and its queues for Prometheus. `docs/metrics.md` lists them. */

import { Registry } from 'prom-client';
import type { EventListener } from '../../core/base/events.ts';
import type { App } from '../../core/kernel/app/app.ts';
import { eachOf, scoped } from '../../core/kernel/enqueue/backends.ts';
import type { Client } from '../../core/kernel/enqueue/client.ts';
import { countEvents, createLabelSets } from './count-events.ts';
import { gaugeLastHour, gaugeLimits, gaugeQueues, gaugeWorkers } from './gauges.ts';
import {
  createRegistrar,
  type MetricsOptions,
  type Registrar,
  type Sample,
  settingsOf,
} from './registrar.ts';

export type { MetricsOptions };

export interface Metrics {
  /** All metrics of the registry as text. Waits at most `timeoutMs` for the queue, and does not fail if the queue fails. */
  text(): Promise<string>;
  readonly contentType: string;
  /** Answers a scrape without checking credentials: protect the route yourself. */
  readonly handler: (request: Request) => Promise<Response>;
  /** Stops counting and removes its metrics from the registry. */
  close(): void;
}

/**
 * Counts the events of the app's jobs in this process from now on, and asks the queue at each scrape. With several backends all are
 * asked, and their samples have the label `backend`. Throws `CONFIG` for a wrong option.
 */
export function metrics(client: Client, options: MetricsOptions = {}): Metrics {
  const { app } = client;
  const settings = settingsOf(options);
  const { registry = new Registry() } = options;
  const registrar = createRegistrar(registry, settings.prefix);

  const isHeard = app.events.active; // read before this function adds its own listeners
  function warn(message: string): void {
    if (isHeard) app.events.emit({ type: 'backend.warning', backend: 'prometheus', message });
    else process.emitWarning(message, { code: 'LONGSHORE_METRICS' });
  }

  const overflows = registrar.counter(
    'queue_metrics_overflow_total',
    'Values counted under "other" because there were too many label sets.',
    [],
  );
  let isTold = false;
  function overflow(): void {
    overflows.inc(1);
    if (isTold) return;
    isTold = true;
    warn(
      `There are more than ${settings.maxLabelSets} pairs of queue and job, or more tenants than maxTenants (${settings.maxTenants}): further ones are counted as "other". Raise maxLabelSets or maxTenants if your Prometheus can hold more.`,
    );
  }

  const clients = eachOf(client).map(scoped);
  const countFailure = gaugeLastHour(registrar, clients, settings);
  const counting = countEvents(app, registrar, settings, createLabelSets(settings, overflow), countFailure);
  gaugeQueues(registrar, clients, settings, overflow);
  gaugeWorkers(registrar, clients, settings);
  gaugeLimits(registrar, clients, settings, overflow);
  const scheduling = gaugeSchedules(registrar, app);
  const unlisten = [app.events.on(counting), app.events.on(scheduling)];
  const { clashes } = registrar;
  if (clashes.length > 0) {
    warn(
      `The registry already has metrics with these names, so Longshore's are left out: ${clashes.join(', ')}. Give metrics() a prefix or a registry of its own.`,
    );
  }

  const text = () => registry.metrics();
  return {
    text,
    get contentType() {
      return registry.contentType;
    },
    async handler({ method }) {
      if (method !== 'GET' && method !== 'HEAD')
        return new Response(null, { status: 405, headers: { allow: 'GET, HEAD' } });
      const headers = { 'content-type': registry.contentType, 'cache-control': 'no-store' };
      return new Response(method === 'HEAD' ? null : await text(), { headers });
    },
    close() {
      for (const end of unlisten) end();
      registrar.remove();
    },
  };
}

/** How late each schedule is, by the ticks of this process. Leaves out schedules that this process does not tick. */
function gaugeSchedules({ gauge }: Registrar, { schedules, clock }: App): EventListener {
  /** Time up to which each schedule has enqueued its jobs. */
  const checkedAt = new Map<string, number>();

  async function read(): Promise<Sample[]> {
    const now = clock.now();
    const samples: Sample[] = [];
    for (const { name, nextAfter } of schedules) {
      const since = checkedAt.get(name);
      if (since === undefined) continue;
      const owedAt = await nextAfter(since).catch(() => null);
      samples.push([{ schedule: name }, owedAt === null ? 0 : Math.max(0, now - owedAt) / 1000]);
    }
    return samples;
  }
  const help = 'How late the schedule is: age of its oldest due job that was not enqueued.';
  gauge(read, 'queue_schedule_lag_seconds', help, ['schedule']);

  return (event) => {
    if (event.type === 'schedule.checked') checkedAt.set(event.schedule, event.at);
    // At the first tick of this process, earlier lag is unknown.
    else if (event.type === 'schedule.failed' && !checkedAt.has(event.schedule))
      checkedAt.set(event.schedule, clock.now());
  };
}
