import { suite } from '../kit/bench.ts';
import { bulk, latency, pending, single } from './sending.ts';
import { startServer } from './server.ts';
import { backlog, drain, history, memory } from './throughput.ts';

export const redis = suite(
  { drain, history, bulk, single, latency, backlog, pending, rss: memory },
  startServer,
);
