import { resolve } from 'node:path';
import type { Check } from '../../../core/contract/diagnosis.ts';
import { checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { flag } from '../config/flags.ts';
import { duration, integer } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import {
  jobChecks,
  keyRingOf,
  liveKeyChecks,
  noKeyRing,
  queueChecks,
  staticKeyChecks,
} from '../doctor/checks.ts';
import { deploymentChecks } from '../doctor/deployment.ts';
import { type DoctorFacts, doctorFacts, requestOf } from '../doctor/facts.ts';
import {
  countOf,
  type Diagnosis,
  diagnosed,
  exits,
  runChecks,
  skipped,
  strictFlag,
  together,
} from '../doctor/run-checks.ts';

export const doctor = defineCommand({
  path: 'doctor',
  summary: 'find problems that would lose, duplicate or stop jobs, and say how to fix them',
  about:
    'Looks at the app, its keys, the files of a deployment, the backend and its server, queues, workers and schedules. Changes nothing. Every finding has a remedy, and an id that docs/doctor.md explains. Checks that could not run are listed. For a probe every few seconds, use longshore health.',
  flags: {
    strict: strictFlag,
    maxDead: flag('--max-dead <n>', 'warn about more dead letters than this', integer(0), '1000'),
    template: flag(
      '--template <file>',
      'the CloudFormation template in JSON to look at, instead of the one in .serverless',
      (text: string) => text,
    ),
    timeout: flag('--timeout <duration>', 'a check that takes longer counts as failed', duration(1), '15s'),
  },
  examples: ['longshore doctor', 'longshore doctor --strict --json', 'longshore doctor --max-dead 0'],
  exits,
  async run(input) {
    const { flags, io } = input;
    const facts = await doctorFacts(input, { maxDead: flags.maxDead });
    const run: Run = (checks, because) => runChecks(checks, io.clock, flags.timeout, because);
    const before = run([
      ...checksOf(staticKeyChecks, facts),
      ...deploymentChecks(facts.app, facts.folder, flags.template && resolve(io.cwd, flags.template)),
    ]);
    const reached = await run(checksOf([answers], facts));
    const found = together([await before, reached, await live(facts, reached, run)]);
    const result = diagnosed(found, input);
    return { ...result, data: { ...result.data, notes: countOf(found, 'note') } };
  },
});

/** If this check fails, the other checks do not query the backend. */
export const answers: Check<DoctorFacts> = {
  id: 'backend.answers',
  severity: 'error',
  async look({ app, session, stats }) {
    await session.backend();
    const stores = keyRingOf(app) && (await session.client()).stores;
    if ((await stats()) === null) await stores?.records.get('doctor');
    return [];
  },
};

type Run = (checks: readonly Check[], because?: string) => Promise<Diagnosis>;

async function live(facts: DoctorFacts, reached: Diagnosis, run: Run): Promise<Diagnosis> {
  const { session, app } = facts;
  const own = checksOf([...jobChecks, ...liveKeyChecks, ...queueChecks], facts);
  const silent = 'the backend does not answer';
  const isSilent = reached.findings.length > 0;
  const opened = await Promise.all([session.backend(), session.store()]).catch(() => null);
  if (opened === null) return skipped(own, silent);
  const [backend, beside] = opened;
  const asked: (readonly [id: string, of: string, has: Diagnosing | undefined])[] = [
    ['backend.settings', `the backend "${backend.name}"`, backend.admin],
    ...(backend.stores?.diagnose ? [['store.settings', 'its store', backend.stores] as const] : []),
    ...(beside ? [['store.settings', 'the store beside it', beside] as const] : []),
  ];
  const theirs = asked.map(async ([id, of, has]) => {
    if (!has?.diagnose) return skipped([{ id, severity: 'note', look: () => [] }], `${of} has no checks`);
    // These run even if the backend does not answer: they may find the cause.
    return run(await has.diagnose(requestOf(app)), isSilent ? silent : undefined);
  });
  // The remaining checks need a client, and a client needs a key.
  const because = isSilent ? silent : keyRingOf(app) ? null : noKeyRing.because;
  const ours = because === null ? run(own) : skipped(own, because);
  return together(await Promise.all([ours, ...theirs]));
}

interface Diagnosing {
  diagnose?(request: ReturnType<typeof requestOf>): Promise<readonly Check[]>;
}
