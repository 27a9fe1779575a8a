/**
 * The laws of an entry point: a function that a platform calls with messages it has taken from a queue. An entry point
 * that keeps them loses no job and hides no failure.
 */

import { entrypointFailureLaws } from './entrypoint-failures.ts';
import type { EntrypointHarness, EntrypointLaw } from './entrypoint-kit.ts';
import { createEntrypointKit } from './entrypoint-kit.ts';
import { entrypointSafetyLaws } from './entrypoint-safety.ts';
import { entrypointStoppingLaws } from './entrypoint-stopping.ts';
import { entrypointTimeLaws } from './entrypoint-time.ts';
import type { Runner } from './harness.ts';
import { declarer } from './law.ts';

export type { EntrypointBench, EntrypointHarness } from './entrypoint-kit.ts';

const topics: readonly (readonly [topic: string, define: (law: EntrypointLaw) => void])[] = [
  ['success and failure', entrypointFailureLaws],
  ['what must not run', entrypointSafetyLaws],
  ['what is stopped', entrypointStoppingLaws],
  ['time', entrypointTimeLaws],
];

export function describeEntrypoint(name: string, harness: EntrypointHarness, runner: Runner): void {
  const law: EntrypointLaw = (title, check, options = {}) => {
    const possible = harness.timeIsOurs !== false || options.takesTime !== true;
    declarer(runner, possible)(title, async () => {
      const t = await createEntrypointKit(harness, options);
      try {
        await check(t);
      } finally {
        await t.bench.close();
      }
    });
  };
  const { describe } = runner;
  describe(`${name} keeps the laws of an entry point`, () => {
    for (const [topic, define] of topics) describe(topic, () => define(law));
  });
}
