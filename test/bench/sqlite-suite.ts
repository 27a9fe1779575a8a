import { suite } from './bench.ts';
import { bundle, load, rss } from './footprint.ts';
import { latency } from './latency.ts';
import { bulk, single } from './sending.ts';
import { backlog, core, drain, history, workers } from './throughput.ts';

const groups = {
  drain,
  history,
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
