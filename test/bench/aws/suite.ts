import { suite } from '../kit/bench.ts';
import { requests } from './requests.ts';
import { size } from './size.ts';

/** `requests` starts its own queue. */
export const aws = suite({ size, requests }, async () => ({ stop: async () => {} }));
