/** Maps paths to handlers. */

import { shown } from '../../../base/errors.ts';
import { decoded } from '../../http/mount.ts';
import { Refusal } from '../../http/problem.ts';
import type { Route, Run } from '../call.ts';
import * as batches from './batches.ts';
import { change, withId } from './change.ts';
import * as dead from './dead-letters.ts';
import * as jobs from './jobs.ts';
import {
  causeFault,
  listAlerts,
  listAudit,
  listCapabilities,
  openEvents,
  showLive,
  showOverview,
  showSession,
} from './overview.ts';
import { noQuery } from './query.ts';
import * as queues from './queues.ts';
import * as schedules from './schedules.ts';

/** A GET whose handler validates the query. */
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
  post('queues/:name/pause', change('queues.pause')),
  post('queues/:name/resume', change('queues.resume')),
  post('queues/:name/clear', change('queues.clear')),
  search('limits', queues.listLimits),
  post('limits/reset', queues.resetLimit),
  get('stopped', queues.listStopped),
  post('stopped/:name/pause', change('jobs.pause')),
  post('stopped/:name/resume', change('jobs.resume')),
  post('stopped/:name/close-breaker', change('jobs.closeBreaker')),
  search('jobs', jobs.listJobs),
  search('jobs/:id', jobs.showJob),
  post('jobs/:id/cancel', change('jobs.cancel')),
  post('jobs/:id/promote', change('jobs.promote', jobs.whatElseWaits)),
  post('jobs/:id/remove', change('jobs.remove')),
  post('jobs/:id/run-again', change('jobs.runAgain', withId)),
  search('batches', batches.listBatches),
  get('batches/:id', batches.showBatch),
  search('batches/:id/children', batches.listChildren),
  lasting(post('batches/:id/cancel', change('batches.cancel'))),
  lasting(post('batches/:id/retry', change('batches.retryFailed'))), // a batch may have a million failed children
  get('chains/:id', batches.showChain),
  post('chains/:id/cancel', change('chains.cancel')),
  search('dead', dead.listDeadLetters),
  search('dead/groups', dead.groupDeadLetters),
  lasting(post('dead/retry', dead.retryDeadLetters)),
  lasting(post('dead/discard', dead.discardDeadLetters)),
  search('dead/:id', dead.showDeadLetter),
  post('dead/:id/edit', dead.editDeadLetter),
  get('schedules', schedules.listSchedules),
  search('stored-schedules', schedules.listStored),
  get('schedules/:name', schedules.showSchedule),
  post('schedules/:name/remove', schedules.removeStored),
  post('schedules/:name/run', change('schedules.run', withId)),
  post('schedules/:name/pause', change('schedules.pause')),
  post('schedules/:name/resume', change('schedules.resume')),
  get('workers', queues.listWorkers),
  post('workers/:id/drain', change('workers.drain')),
  get('alerts', listAlerts),
  search('audit', listAudit),
  get('capabilities', listCapabilities),
  lasting(post('faults/:name', causeFault)), // a fault that advances the clock would reach the time limit
];

const table = routes.map((route) => ({
  route,
  pattern: new RegExp(`^${route.path.replace(/:\w+/, '([^/]+)')}$`),
}));

/** Throws 404 for an unknown path and 405 for a wrong method. @param path below `api/` */
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
