/**
 * The one table. Table storage has neither a second index nor expiry, so further entities stand for both. All entities of a
 * job are in one partition, so that they change together or not at all:
 *
 * | partition    | row                           | what                                                             |
 * |--------------|-------------------------------|------------------------------------------------------------------|
 * | `jobs-<0…7>` | `job:<id>`                    | record of a job                                                  |
 * |              | `<status>:<created>:<id>`     | for lists; `created` counts backwards, so the newest comes first |
 * |              | `past:<ended or dead>:<finished>:<id>` | for purging                                             |
 * | `keys-<0…7>` | `key:<key>`                   | idempotency key                                                  |
 * |              | `look:<moment>:<uuid>`        | when to look whether a key may go                                |
 * | `limits-<0…7>` | `limit:<key or job>`        | slots of a limit, or the limits that a job waits for; sortable.ts has the texts |
 * | `limits-<0…7>` | `batch:<name>`              | a text of a batch; sortable.ts has the texts |
 * |              | `look:<moment>:<uuid>`        | when to look whether it may go                                   |
 * | `steps-<0…7>` | `step:job:<id>`, `step:event:<name>:<key>` | what a job remembers of its steps; who waits for an event |
 * |              | `look:<moment>:<uuid>`        | when to look whether it may go                                   |
 * | `steps-<0…7>` | `text:worker/<id>`           | a worker's heartbeat; sortable.ts has the texts                  |
 * | `metrics-<step>-<moment>` | `<at>|<queue>|<job>|<source>` | numbers of the steps that began in the days from that moment on |
 * | `schedules`  | `name:<name>`                 | a schedule that was made at run time                             |
 * |              | `due:<moment>:<name>`         | when a tick has to look at it                                    |
 * | `audit`      | `at:<moment>:<id>`            | what an operator did; moment and id count backwards, so the newest comes first |
 * |              | `id:<id>`                     | so that no entry is kept twice                                   |
 *
 * One partition takes some 2,000 entities a second, so there are eight.
 */

import { createHash } from 'node:crypto';
import { shardOf } from '../../../core/kit/records/partitions.ts';

const shards = 8;

/** Of version 0.1.0. */
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

/** Whether a partition can be one of ours. */
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

/** A name as a part of a row's key, which must not have / \ # ? or control characters, nor be longer than 1 KB. */
export function safe(name: string): string {
  if (/^[\w.@:-]{1,200}$/.test(name)) return name;
  return `~${createHash('sha256').update(name).digest('hex')}`;
}

/** Letters in one property of type text: it holds 64 KB, two bytes each. */
const mostLetters = 32_000;

/** A text as properties `text0`, `text1`, …, never cut in the middle of a character. */
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

/** An entity holds 1 MB at most, with two bytes per letter. This leaves room for other properties. */
export const fits = (text: string): boolean => text.length <= 450_000;
