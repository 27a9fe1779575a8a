/** The payload of a URL job, and what of it may go into a request. */

import { shown } from '../base/errors.ts';
import type { StandardSchema } from '../kernel/app/schema.ts';
import { isRecord, payloadSchema, type Report, typeOf } from './checks.ts';
import { parseTarget, refuseTarget, type TargetPolicy } from './targets.ts';
import { signatureHeader } from './webhook-signature.ts';

export const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;

export interface UrlPayload {
  /** Absolute, http or https, without user name and password. */
  readonly url: string;
  /** @default 'POST' with a body, else 'GET' */
  readonly method?: (typeof methods)[number];
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent as it is, anything else as JSON. */
  readonly body?: unknown;
}

const maxHeaders = 64;
const longestValue = 8192;

/** RFC 9110: a token; and text without line breaks and other control characters, in Latin-1. */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/;
const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** They say how the message is framed or routed, which is for the client to decide, or promise what it does not do. */
const refusedHeaders: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  signatureHeader,
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
]);
const refusedPrefix = /^(?:proxy-|sec-)/;

/** Also refuses a host or a literal address that the job would refuse: better at `enqueue` than in the dead letters. */
export function urlPayload(policy: TargetPolicy): StandardSchema<UrlPayload> {
  return payloadSchema(['url', 'method', 'headers', 'body'], (payload, report) => {
    checkUrl(payload.url, policy, report);
    const { method, body } = payload;
    if (method !== undefined && !(methods as readonly unknown[]).includes(method))
      report(['method'], `expected one of ${methods.join(', ')}, got ${shown(method)}`);
    if (body !== undefined && (method === 'GET' || method === 'HEAD'))
      report(['body'], `expected no body with ${method}`);
    if (payload.headers !== undefined) checkHeaders(payload.headers, report);
  });
}

function checkUrl(value: unknown, policy: TargetPolicy, report: Report): void {
  const url = typeof value === 'string' ? parseTarget(value) : `expected a string, got ${typeOf(value)}`;
  const problem = typeof url === 'string' ? url : refuseTarget(url, policy);
  if (problem) report(['url'], problem);
}

function checkHeaders(headers: unknown, report: Report): void {
  const names = isRecord(headers) ? Object.keys(headers) : null;
  if (!names) report(['headers'], `expected an object of names and strings, got ${typeOf(headers)}`);
  else if (names.length > maxHeaders)
    report(['headers'], `expected at most ${maxHeaders} headers, got ${names.length}`);
  else {
    const seen = new Set<string>();
    for (const name of names) {
      const problem = headerProblem(name, (headers as Record<string, unknown>)[name], seen);
      if (problem) report(['headers'], `${shown(name)} ${problem}`);
      seen.add(name.toLowerCase());
    }
  }
}

function headerProblem(name: string, value: unknown, seen: ReadonlySet<string>): string | null {
  const lower = name.toLowerCase();
  if (!headerName.test(name)) return 'is not a header name';
  if (refusedHeaders.has(lower) || refusedPrefix.test(lower)) return 'is set by the job itself or not at all';
  if (seen.has(lower)) return 'is there twice, in different case';
  if (typeof value !== 'string') return `expects a string, got ${typeOf(value)}`;
  if (value.length > longestValue) return `expects at most ${longestValue} characters, got ${value.length}`;
  return headerValue.test(value)
    ? null
    : 'expects a value without line breaks, control characters and characters beyond Latin-1';
}
