/** Pings for services that notice when a schedule does not run, such as healthchecks.io and Cronitor. */

import { config, shown } from '../../base/errors.ts';
import type { Ping, PingKind } from '../../kernel/app/schedule.ts';
import { type Endpoint, endpointOf, type RequestOptions, request } from './request.ts';

export interface HeartbeatUrls {
  /** Called when an attempt begins. */
  readonly start?: string;
  /** Called when the job is done. */
  readonly success?: string;
  /** Called when the job has failed for good. An attempt that will be retried calls nothing. */
  readonly fail?: string;
}

export interface HeartbeatOptions extends RequestOptions {
  /** @default 'GET' */
  readonly method?: 'GET' | 'POST' | 'HEAD';
}

/**
 * For `ping` of `defineSchedule`. A single URL is used in the way of healthchecks.io: `<url>/start`, `<url>` and `<url>/fail`. Throws `CONFIG`
 * for an invalid URL.
 */
export function heartbeat(to: string | HeartbeatUrls, options: HeartbeatOptions = {}): Ping {
  const { method = 'GET' } = options;
  if (!['GET', 'POST', 'HEAD'].includes(method))
    throw config(`heartbeat() expects method to be GET, POST or HEAD, got ${shown(method)}.`);
  const endpoints = endpointsOf(to, options);
  return async (kind, signal) => {
    const endpoint = endpoints.get(kind);
    if (!endpoint) return;
    const body = method === 'POST' ? '' : null;
    await request(endpoint, { method, headers: {}, body, name: endpoint.url.host }, signal);
  };
}

const kinds: readonly PingKind[] = ['start', 'success', 'fail'];

function endpointsOf(to: string | HeartbeatUrls, options: RequestOptions): Map<PingKind, Endpoint> {
  if (typeof to === 'string') {
    const below = (path: string): Endpoint => {
      const endpoint = endpointOf('heartbeat', to, options);
      endpoint.url.pathname = endpoint.url.pathname.replace(/\/?$/, path);
      return endpoint;
    };
    return new Map([
      ['start', below('/start')],
      ['success', endpointOf('heartbeat', to, options)],
      ['fail', below('/fail')],
    ]);
  }
  if (typeof to !== 'object' || to === null)
    throw config(`heartbeat() expects a URL or { start, success, fail }, got ${shown(to)}.`);
  const stranger = Object.keys(to).find((name) => !(kinds as readonly string[]).includes(name));
  if (stranger !== undefined)
    throw config(`heartbeat() has no ping ${shown(stranger)}. Its pings are ${kinds.join(', ')}.`);
  const given = kinds.filter((kind) => to[kind] !== undefined);
  if (given.length === 0) throw config('heartbeat() expects at least one of start, success and fail.');
  return new Map(given.map((kind) => [kind, endpointOf('heartbeat', to[kind], options)]));
}
