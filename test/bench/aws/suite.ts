import { suite } from '../kit/bench.ts';
import { drain } from './drain.ts';
import { requests } from './requests.ts';
import { size } from './size.ts';

/** `requests` and `drain` start their own queues. */
export const aws = suite({ size, requests, drain }, async () => ({ stop: async () => {} }));
