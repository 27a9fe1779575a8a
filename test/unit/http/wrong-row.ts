/** A wrong request with what it must be told: status, code and a remedy in the message. */

import type { Sent } from './kit.ts';

export type Row = readonly [
  what: string,
  path: string,
  sent: Sent,
  status: number,
  code: string,
  says: RegExp,
];

export const good = { invoiceId: '1042' };
export const one = '/jobs/invoice.send';

export const header = (name: string, value: string, status: number, code: string, says: RegExp): Row => [
  `header ${name}: ${value.slice(0, 40)}`,
  one,
  { body: good, headers: { [name]: value } },
  status,
  code,
  says,
];
