import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { type Extent, projects } from './test/kit/projects.ts';

const extent = (process.env.LONGSHORE_TESTS ?? 'all') as Extent;

// Tests start hundreds of programs. Each takes half of its time to strip the types of the same files, unless Node keeps what came of it.
process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

/** Law suites are small files that run for minutes: at the end, as files of their size, they would run alone beside idle processors. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project }: TestSpecification) =>
      ['laws', 'e2e', 'services', 'unit'].indexOf(project.name);
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

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
    // once leave a quarter of the cores idle.
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    allowOnly: false,
  },
});
