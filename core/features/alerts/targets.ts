/** The targets of notices: a signed webhook, Slack and compatible services, or a function. */

import { config, shown } from '../../base/errors.ts';
import type { AlertSeverity } from '../../base/events.ts';
import { checkSecret, signatureHeader, signatureOf } from '../../jobs/webhook-signature.ts';
import type { AlertCall, AlertNotice, AlertTarget } from '../../kernel/app/alerts.ts';
import { endpointOf, type RequestOptions, request } from './request.ts';

export interface TargetOptions {
  /** Name of the target in events and in `longshore alerts --test`. @default the kind of the target */
  readonly name?: string;
  /** Only notices of this severity. @default all */
  readonly severity?: AlertSeverity;
}

export interface WebhookOptions extends TargetOptions, RequestOptions {
  readonly url: string;
  /** Signs each call; see `verifyWebhook` of `longshore/jobs`. At least 32 bytes. */
  readonly signWith?: string | Uint8Array;
}

/** The JSON body of a webhook. */
export interface WebhookBody {
  readonly type: 'alerts';
  readonly alerts: readonly (Omit<AlertNotice, 'since' | 'at'> & {
    /** ISO 8601. */
    readonly since: string;
    readonly at: string;
  })[];
}

/** Posts JSON: `{ type: 'alerts', alerts: [...] }`. Throws `CONFIG` for a wrong URL or secret. */
export function webhook(options: WebhookOptions): AlertTarget {
  const endpoint = endpointOf('webhook', options?.url, options);
  const { signWith } = options;
  if (signWith !== undefined) checkSecret('signWith of webhook()', signWith);
  return target('webhook', options, async (notices, { signal, now }, name) => {
    const alerts = notices.map(({ since, at, ...rest }) => ({ ...rest, since: iso(since), at: iso(at) }));
    const body = JSON.stringify({ type: 'alerts', alerts } satisfies WebhookBody);
    await request(endpoint, { ...post(name, body), headers: signed(body, now, signWith) }, signal);
  });
}

/** Posts `{ text }`, the format of Slack, Mattermost and Rocket.Chat. The URL is a secret and appears in no message. */
export function slack(url: string, options: TargetOptions & RequestOptions = {}): AlertTarget {
  const endpoint = endpointOf('slack', url, options);
  return target('slack', options, (notices, { signal }, name) => {
    const body = JSON.stringify({ text: notices.map(slackLine).join('\n') });
    return request(endpoint, { ...post(name, body), headers: jsonHeaders }, signal);
  });
}

/** Calls your own code. If it throws, an event reports the error, and later it is called again with the same notices. */
export function sendTo(
  send: (notices: readonly AlertNotice[], signal: AbortSignal) => unknown,
  options: TargetOptions = {},
): AlertTarget {
  if (typeof send !== 'function') throw config(`sendTo() expects a function, got ${shown(send)}.`);
  return target('function', options, async (notices, { signal }) => send(notices, signal));
}

const jsonHeaders = { 'content-type': 'application/json' };

type Send = (notices: readonly AlertNotice[], call: AlertCall, name: string) => Promise<unknown>;

function target(kind: string, { name = kind, severity }: TargetOptions, send: Send): AlertTarget {
  if (severity !== undefined && severity !== 'warning' && severity !== 'critical')
    throw config(`Target "${name}" expects severity to be 'warning' or 'critical', got ${shown(severity)}.`);
  return { name, ...(severity && { severity }), send: (notices, call) => send(notices, call, name) };
}

const post = (name: string, body: string) => ({ method: 'POST', body, name: `Target "${name}"` });

function signed(body: string, now: number, secret: WebhookOptions['signWith']): Record<string, string> {
  if (secret === undefined) return jsonHeaders;
  // The time of this request, not of the notice: the receiver compares it with its clock.
  return { ...jsonHeaders, [signatureHeader]: signatureOf(secret, body, now) };
}

const iso = (at: number): string => new Date(at).toISOString();

const signs = {
  firing: ':red_circle: FIRING',
  resolved: ':large_green_circle: RESOLVED',
  test: ':white_circle: TEST',
};

/** Escapes mentions: `<!channel>` in a name must not notify a channel in Slack. */
function slackLine({ state, alert, severity, text, since, at, reminder }: AlertNotice): string {
  const sign = reminder ? `${signs[state]} (still)` : signs[state];
  const when =
    state === 'test' ? '' : ` (since ${iso(since)}${state === 'resolved' ? `, until ${iso(at)}` : ''})`;
  return escaped(`${sign} *${alert}* (${severity}): ${text}${when}`);
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
