/** Which tests there are, by what they need, and which of them `npm test` leaves to `npm run test:all`. */

import type { TestProjectInlineConfiguration } from 'vitest/config';

/**
 * What a run of tests is for: `quick` is `npm test`, `rest` is what that leaves out, and a run of vitest by hand has all there is.
 */
export type Extent = 'quick' | 'rest' | 'all';

const tests = {
  /** No server, no fixed port, no file that another test may use: they share a process. */
  unit: 'test/unit/**/*.test.ts',
  /** The law suites on every backend and store that `npm ci` brings. */
  laws: 'test/laws/**/*.test.ts',
  /** Each backend and platform against the real service or its emulator. */
  services: 'test/services/**/*.test.ts',
  /** Programs as somebody runs them: the command line, the demo, the package, workers that are killed or cut off. */
  e2e: 'test/e2e/**/*.test.ts',
} as const;

/** What takes programs that npm does not bring, root, or minutes. */
const later: Readonly<Record<keyof typeof tests, readonly string[]>> = {
  unit: [],
  laws: ['test/laws/{crash-points-sqlite,meetings-service-bus,meetings-sqlite}.test.ts'],
  services: [
    'test/services/redis/meetings.test.ts',
    'test/services/{batches,beanstalkd,chains,move,prometheus,python,redis,unique,waiting}/*.test.ts',
    'test/services/{alerts,capabilities,operator,schedules,waiting-jobs,workers}.test.ts',
    'test/services/postgres/{administered,diagnose,disk-full,failover,meetings,pgbouncer,processes,resilience}.test.ts',
    'test/services/sqlite/file-systems.test.ts',
    'test/services/stored/redis.test.ts',
    'test/services/{aws,azure}/simulate.test.ts',
    'test/services/azure/cuts.test.ts',
    'test/services/aws/{cli,meetings,permissions,recursion,runtime}.test.ts',
  ],
  e2e: [
    'test/e2e/demo.test.ts',
    'test/e2e/{create,create-files,frameworks,progress,supervisord}.test.ts',
    'test/e2e/cli/{move,move-chain,process,tutorial}.test.ts',
    'test/e2e/deploy/{aws,azure}.test.ts',
    'test/e2e/{crash,dashboard,dev,network}/*.test.ts',
  ],
};

/**
 * Emulators of clouds take half of the time of all these tests. `npm test` runs them when something has changed that they are about; in CI
 * they are part of the rest.
 */
const clouds: Readonly<Record<keyof typeof tests, readonly string[]>> = {
  unit: [],
  laws: ['test/laws/{dynamo-store,service-bus-sessions,service-bus,sqs,table-store}.test.ts'],
  services: [
    'test/services/{dynamo,table}/*.test.ts',
    'test/services/azure/{cli,dead-letters,foreign,functions-sessions,network,payloads,sessions,worker}.test.ts',
  ],
  e2e: [],
};

/** What they are about. */
export const isOfClouds = (path: string): boolean =>
  /^(functions|core\/(kit|contract|serverless)|local\/simulate|test\/(laws|testing|kit|services\/(aws|azure|dynamo|table)))\//.test(
    path,
  );

/** In `npm test` they are few, so all of them belong to the rest too. */
const sequences = 'test/laws/{sequences-*,crash-points}.test.ts';

/** @param withClouds of `quick`: nothing is left to the rest that is about clouds */
export function projects(extent: Extent, withClouds = false): TestProjectInlineConfiguration[] {
  return (Object.keys(tests) as (keyof typeof tests)[]).map((name) => {
    const left = withClouds ? later[name] : [...later[name], ...clouds[name]];
    const rest = name === 'laws' ? [...left, sequences] : left;
    return {
      extends: true,
      test: {
        name,
        include: extent === 'rest' ? [...rest] : [tests[name]],
        exclude: extent === 'quick' ? [...left] : [],
        isolate: name !== 'unit',
      },
    };
  });
}
