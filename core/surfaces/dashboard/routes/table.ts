/** Which page of data is asked for at which path. A new page is a file beside this one and its entries here. */

import { shown } from '../../../base/errors.ts';
import { Refusal } from '../../http/problem.ts';
import { decoded } from '../../http/routes.ts';
import type { Route, Run } from '../call.ts';
import { listAlerts } from './alerts.ts';
import { listAudit } from './audit.ts';
import * as batches from './batches.ts';
import { listCapabilities } from './capabilities.ts';
import * as chains from './chains.ts';
import * as dead from './dead-letters.ts';
import { openEvents } from './events.ts';
import { causeFault } from './faults.ts';
import * as jobs from './jobs.ts';
import * as limits from './limits.ts';
import { showLive, showOverview } from './overview.ts';
import { noQuery } from './query.ts';
import * as queues from './queues.ts';
import * as schedules from './schedules.ts';
import { showSession } from './session.ts';
import * as stopped from './stopped.ts';
import * as workers from './workers.ts';

/** With a query that its page checks. */
const search = (path: string, run: Run): Route => ({ path, method: 'GET', run });
const get = (path: string, run: Run): Route => search(path, plain(run));
const post = (path: string, run: Run): Route => ({ path, method: 'POST', run: plain(run) });
const lasting = (route: Route): Route => ({ ...route, lasts: true });

function plain(run: Run): Run {
  return (endpoint, call) => {
    noQuery(call.url);
    return run(endpoint, call);
  };
}

const routes: readonly Route[] = [
  get('session', showSession),
  get('live', showLive),
  lasting(get('events', openEvents)),
  search('overview', showOverview),
  get('queues', queues.listQueues),
  post('queues/:name/pause', queues.pauseQueue),
  post('queues/:name/resume', queues.resumeQueue),
  post('queues/:name/clear', queues.clearQueue),
  search('limits', limits.listLimits),
  post('limits/reset', limits.resetLimit),
  get('stopped', stopped.listStopped),
  post('stopped/:name/pause', stopped.pauseJob),
  post('stopped/:name/resume', stopped.resumeJob),
  post('stopped/:name/close-breaker', stopped.closeBreaker),
  search('jobs', jobs.listJobs),
  search('jobs/:id', jobs.showJob),
  post('jobs/:id/cancel', jobs.cancelJob),
  post('jobs/:id/promote', jobs.promoteJob),
  post('jobs/:id/remove', jobs.removeJob),
  post('jobs/:id/run-again', jobs.runJobAgain),
  search('batches', batches.listBatches),
  get('batches/:id', batches.showBatch),
  search('batches/:id/children', batches.listChildren),
  lasting(post('batches/:id/cancel', batches.cancelBatch)),
  lasting(post('batches/:id/retry', batches.retryBatch)), // of a million children many may have failed
  get('chains/:id', chains.showChain),
  post('chains/:id/cancel', chains.cancelChain),
  search('dead', dead.listDeadLetters),
  search('dead/groups', dead.groupDeadLetters),
  lasting(post('dead/retry', dead.retryDeadLetters)),
  lasting(post('dead/discard', dead.discardDeadLetters)),
  search('dead/:id', dead.showDeadLetter),
  post('dead/:id/edit', dead.editDeadLetter),
  get('schedules', schedules.listSchedules),
  search('stored-schedules', schedules.listStored),
  get('schedules/:name', schedules.showSchedule),
  post('schedules/:name/remove', schedules.removeSchedule),
  post('schedules/:name/run', schedules.runSchedule),
  post('schedules/:name/pause', schedules.pauseSchedule),
  post('schedules/:name/resume', schedules.resumeSchedule),
  get('workers', workers.listWorkers),
  post('workers/:id/drain', workers.drainWorker),
  get('alerts', listAlerts),
  search('audit', listAudit),
  get('capabilities', listCapabilities),
  lasting(post('faults/:name', causeFault)), // an hour that is skipped would end it
];

const table = routes.map((route) => ({
  route,
  pattern: new RegExp(`^${route.path.replace(/:\w+/, '([^/]+)')}$`),
}));

/** Throws 404 for a path that is none, and 405 for another method. @param path below `api/` */
export function routeFor(
  path: string,
  method: string,
): { readonly route: Route; readonly parameter: string } {
  const found = table.filter(({ pattern }) => pattern.test(path));
  if (found.length === 0)
    throw new Refusal(404, 'NOT_FOUND', `Expected a path of the dashboard, got ${shown(`api/${path}`)}.`);
  const match = found.find(({ route }) => route.method === method);
  if (match) return { route: match.route, parameter: decoded(match.pattern.exec(path)?.[1] ?? '') };
  const allow = [...new Set(found.map(({ route }) => route.method))].join(', ');
  throw new Refusal(405, 'REQUEST', `Expected the method ${allow} for this path, got ${shown(method)}.`, {
    headers: { allow },
  });
}
