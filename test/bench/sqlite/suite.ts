import { bundle, load, rss } from '../footprint.ts';
import { suite } from '../kit/bench.ts';
import { latency } from '../kit/latency.ts';
import { bulk, single } from '../kit/sending.ts';
import { backlog, core, drain, history, numbers, workers } from '../kit/throughput.ts';

const groups = {
  drain,
  history,
  numbers,
  workers,
  bulk,
  single,
  latency,
  backlog,
  rss,
  core,
  import: load,
  bundle,
};

/** A file is all the service it needs. */
export const sqlite = suite(groups, async () => ({ stop: async () => {} }));
