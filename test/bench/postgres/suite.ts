import { suite } from '../kit/bench.ts';
import { backlog } from './backlog.ts';
import { bulk, latency, single } from './sending.ts';
import { startServer } from './server.ts';
import { drain, history, memory, workers } from './throughput.ts';

export const postgres = suite(
  { drain, history, workers, bulk, single, latency, backlog, rss: memory },
  startServer,
);
