/** The smallest isolated jobs, for measuring what isolation itself costs. */

import { defineJob } from '../../../../core/index.ts';

const payload = {
  '~standard': { version: 1, vendor: 'test', validate: (value: unknown) => ({ value }) },
} as const;
const base = { payload, handle: () => {}, module: import.meta.url } as const;

export const thread = defineJob({ ...base, name: 'thread', isolate: 'thread' });
export const cappedThread = defineJob({
  ...base,
  name: 'thread-with-maxMemoryMb',
  isolate: 'thread',
  maxMemoryMb: 256,
});
export const child = defineJob({ ...base, name: 'process', isolate: 'process' });
