/**
 * The layout of the table. Table storage has neither a second index nor expiry, so further entities replace both. All entities of a
 * job are in one partition, so that they change in one transaction:
 *
 * | partition    | row                           | what                                                             |
 * |--------------|-------------------------------|------------------------------------------------------------------|
 * | `jobs-<0…7>` | `job:<id>`                    | record of a job                                                  |
 * |              | `<status>:<created>:<id>`     | for lists; `created` counts backwards, so the newest comes first |
 * |              | `past:<ended or dead>:<finished>:<id>` | for purging                                             |
 * | `keys-<0…7>` | `key:<key>`                   | idempotency key                                                  |
 * |              | `look:<moment>:<uuid>`        | when to check if a key is expired                                |
 * | `limits-<0…7>` | `limit:<key or job>`        | slots of a limit, or the limits that a job waits for; key as in sortable.ts |
 * | `limits-<0…7>` | `batch:<name>`              | a text of a batch; key as in sortable.ts |
 * |              | `look:<moment>:<uuid>`        | when to check if it is expired                                   |
 * | `steps-<0…7>` | `step:job:<id>`, `step:event:<name>:<key>` | step results of a job; jobs that wait for an event |
 * |              | `look:<moment>:<uuid>`        | when to check if it is expired                                   |
 * | `steps-<0…7>` | `text:worker/<id>`           | a worker's heartbeat; key as in sortable.ts                  |
 * | `metrics-<step>-<moment>` | `<at>|<queue>|<job>|<source>` | metrics of the steps that began in this span of days |
 * | `schedules`  | `name:<name>`                 | a schedule created at run time                             |
 * |              | `due:<moment>:<name>`         | when a tick has to handle it                                    |
 * | `audit`      | `at:<moment>:<id>`            | an audit entry; moment and id count backwards, so the newest comes first |
 * |              | `id:<id>`                     | prevents duplicate entries                                   |
 *
 * There are eight partitions, because each takes only some 2,000 entities a second.
 */

import { createHash } from 'node:crypto';
import { shardOf } from '../../../core/kit/records/partitions.ts';

const shards = 8;

/** Partitions of version 0.1.0. */
export const workersPartition = 'workers';
export const auditPartition = 'audit';
export const schedulesPartition = 'schedules';
export const jobPartitions = names('jobs');
export const keyPartitions = names('keys');
export const limitPartitions = names('limits');
export const stepPartitions = names('steps');
export const jobPartition = (id: string): string => jobPartitions[shardOf(id, shards)]!;
export const shardIn = (partitions: readonly string[], name: string): string =>
  partitions[shardOf(name, shards)]!;

/** Whether the partition is one of Longshore's. */
export const isOurs = (partition: string): boolean =>
  partition === workersPartition ||
  partition === auditPartition ||
  partition === schedulesPartition ||
  [...jobPartitions, ...keyPartitions, ...limitPartitions, ...stepPartitions].includes(partition) ||
  /^metrics-(minute|hour|day)-\d{16}$/.test(partition);

function names(kind: string): string[] {
  return Array.from({ length: shards }, (_, shard) => `${kind}-${shard}`);
}

/** All rows of a partition. */
export const every = { from: '', to: '\u{fffd}' };

/** A name as a part of a row's key. Keys cannot contain / \ # ? or control characters, nor be longer than 1 KB. */
export function safe(name: string): string {
  if (/^[\w.@:-]{1,200}$/.test(name)) return name;
  return `~${createHash('sha256').update(name).digest('hex')}`;
}

/** Characters per text property: it may have 64 KB, two bytes per character. */
const mostLetters = 32_000;

/** A text as properties `text0`, `text1`, …; never cut in the middle of a character. */
export function textProperties(text: string): Record<string, string> {
  const properties: Record<string, string> = {};
  for (let from = 0, n = 0; from < text.length; n++) {
    let to = Math.min(text.length, from + mostLetters);
    if (to < text.length && /[\uD800-\uDBFF]/.test(text[to - 1]!)) to--;
    properties[`text${n}`] = text.slice(from, to);
    from = to;
  }
  return properties;
}

export function textOf(entity: Readonly<Record<string, string>>): string {
  let text = '';
  for (let n = 0; entity[`text${n}`] !== undefined; n++) text += entity[`text${n}`];
  return text;
}

/** An entity may have 1 MB, with two bytes per character. This leaves room for other properties. */
export const fits = (text: string): boolean => text.length <= 450_000;
