/** What items say of moments and shelves; table.ts shows the table. */

import type { JobStatus } from '../../../core/contract/outcome.ts';
import { momentText } from '../../../core/kit/records/sortable.ts';

export const partitionsPerStatus = 8;

export const pkOf = (id: string): string => `job#${id}`;
export const idOf = (pk: string): string => pk.slice(pkOf('').length);
export const partitionOf = (status: JobStatus, shard: number): string => `${status}#${shard}`;
export const statusOf = (partition: string): string => partition.slice(0, partition.indexOf('#'));
export const partitionsOf = (status: JobStatus): string[] =>
  Array.from({ length: partitionsPerStatus }, (_, shard) => partitionOf(status, shard));

export const sortKeyOf = (at: number, id = ''): string => `${momentText(at)}#${id}`;

/** DynamoDB wants whole seconds. Rounded up, so that nothing expires early. */
export const expiry = (at: number): number => Math.ceil(at / 1000);
