/** The files of a deployment that lie beside the config: what they say against what the jobs need. */

import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Check } from '../../../core/contract/diagnosis.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import { checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { needsOfQueues } from '../../settings.ts';
import { type HostSettings, hostSettings } from '../../simulate/functions/host-json.ts';
import { span } from '../output/ui.ts';
import { hasSchedule, readTemplate, templateChecks } from './template.ts';

interface HostFacts {
  readonly app: App;
  readonly settings: () => HostSettings & { readonly path: string };
}

/**
 * Only for files that are there. Where serverless.yml stands alone, it is said that nobody can look at it.
 * @param template its path, in place of the packaged one
 */
export function deploymentChecks(app: App, folder: string, template: string | undefined): Check[] {
  const checks: Check[] = [];
  if (above(folder, 'host.json') !== null) {
    const settings = () => hostSettings(folder) as HostSettings & { path: string };
    checks.push(...checksOf(hostChecks, { app, settings }));
  }
  const packaged = template ?? above(folder, packagedTemplate);
  if (packaged !== null) {
    const facts = {
      app,
      needsOf: needsOfQueues(app),
      template: () => readTemplate(packaged),
      isScheduled: () => hasSchedule(packaged),
    };
    checks.push(...checksOf(templateChecks, facts));
  } else if (above(folder, 'serverless.yml') !== null) {
    const because = `serverless.yml is read as the template that is made of it, and there is no ${packagedTemplate}. Run serverless package, or name a template in JSON with --template`;
    checks.push({ id: 'aws.template', severity: 'note', look: () => ({ because }) });
  }
  return checks;
}

const packagedTemplate = join('.serverless', 'cloudformation-template-update-stack.json');

/** In this folder, or in one above it as far as that of the package. */
function above(folder: string, name: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    const path = join(at, name);
    if (existsSync(path)) return path;
    if (existsSync(join(at, 'package.json')) || at === dirname(at)) return null;
  }
}

/** Every job may run for less. */
const limit = (
  id: string,
  [name, msOf]: readonly [string, (settings: HostSettings) => number],
  consequence: string,
  remedy: string,
): Check<HostFacts> => ({
  id,
  severity: 'error',
  look({ app, settings }) {
    const found = settings();
    const limitMs = msOf(found);
    const longer = [...app.jobs.values()].filter(({ timeoutMs }) => timeoutMs >= limitMs);
    return longer.map((job) => {
      const text = `${name} is ${span(limitMs)}, and job "${job.name}" may run for ${span(job.timeoutMs)}: ${consequence}.`;
      return { where: found.path, text, remedy };
    });
  },
});

export const hostChecks: readonly Check<HostFacts>[] = [
  limit(
    'host.timeout',
    ['functionTimeout', ({ functionTimeoutMs }) => functionTimeoutMs],
    'the host kills the process, with all other jobs in it',
    'Raise functionTimeout above the longest timeoutMs, or lower that of the job.',
  ),
  limit(
    'host.lock',
    ['maxAutoLockRenewalDuration', ({ maxLockRenewalMs }) => maxLockRenewalMs],
    'it loses its lock, and runs twice',
    'Set maxAutoLockRenewalDuration to functionTimeout.',
  ),
  {
    id: 'host.complete',
    severity: 'error',
    look({ settings }) {
      const { path, completes } = settings();
      if (completes) return [];
      return {
        where: path,
        text: 'autoCompleteMessages is false: a job that is done stays locked, and runs again when its lock ends.',
        remedy: 'Set autoCompleteMessages to true.',
      };
    },
  },
  {
    id: 'host.prefetch',
    severity: 'warning',
    look({ settings }) {
      const { path, prefetchCount } = settings();
      if (prefetchCount === 0) return [];
      return {
        where: path,
        text: `prefetchCount is ${prefetchCount}: messages that wait for a free function lose their lock there, and each time a delivery.`,
        remedy: 'Set prefetchCount to 0.',
      };
    },
  },
];
