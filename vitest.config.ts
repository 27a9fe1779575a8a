import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { type Extent, projects } from './test/kit/projects.ts';

const extent = (process.env.LONGSHORE_TESTS ?? 'all') as Extent;

// Tests start hundreds of programs. Each takes half of its time to strip the types of the same files, unless Node keeps what came of it.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

export default defineConfig({
  test: {
    projects: projects(extent, process.env.LONGSHORE_CLOUDS !== undefined),
    globalSetup: ['test/kit/shared/setup.ts'],
    provide: { sequences: process.env.LONG ? 20_000 : extent === 'quick' ? 100 : 1_000 },
    // No test is about time that passes: this only ends what hangs, also on a machine with eight other things to do.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // As long as a test may take: a machine that is busy is no fault of what is waited for.
    expect: { poll: { timeout: 120_000 } },
    // What one test sets, the next one must not find, whoever runs in its process.
    unstubEnvs: true,
    unstubGlobals: true,
    restoreMocks: true,
    pool: 'forks',
    // Most files wait for servers and for other processes: on two cores they would run one after the other by default, and two at
    // once leave a quarter of the cores idle. The rest has servers that are busy themselves.
    maxWorkers: extent === 'quick' ? 4 : 3,
    allowOnly: false,
  },
});
