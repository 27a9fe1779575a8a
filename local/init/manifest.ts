/** The additions to a package.json. Its own fields stay as they are. */

import type { Choices } from './choices.ts';
import type { Project } from './project.ts';
import { hasManyHosts, isSupervised } from './settings.ts';

/** With the ranges of Longshore's peer dependencies. */
export const versions = {
  zod: '^4.0.0',
  pg: '^8.11.0',
  '@redis/client': '^6.0.0',
  '@aws-sdk/client-sqs': '^3.1000.0',
  '@aws-sdk/client-dynamodb': '^3.1000.0',
  '@azure/service-bus': '^7.9.0',
  '@azure/data-tables': '^13.3.0',
  '@azure/functions': '^4.5.0',
  'prom-client': '^15.1.0',
  '@types/node': '^24.0.0',
} as const;

type Name = keyof typeof versions;

const drivers: Readonly<Record<Choices['backend'], readonly Name[]>> = {
  sqlite: [],
  postgres: ['pg'],
  redis: ['@redis/client'],
  beanstalkd: [],
  sqs: ['@aws-sdk/client-sqs', '@aws-sdk/client-dynamodb'],
  servicebus: ['@azure/service-bus', '@azure/data-tables'],
};

const driversOf = ({ backend, platform }: Choices): readonly Name[] => [
  ...drivers[backend],
  ...(backend === 'beanstalkd' && hasManyHosts(platform) ? drivers.postgres : []),
  ...(platform === 'azure' ? (['@azure/functions'] as const) : []),
  // Its workers serve /healthz and /metrics.
  ...(isSupervised(platform) ? (['prom-client'] as const) : []),
];

/** @param version of Longshore */
export function extendManifest(project: Project, choices: Choices, version: string) {
  const { manifest, has } = project;
  const scripts = scriptsOf(project, choices);
  const own = manifest.scripts ?? {};
  const needed = { longshore: `^${version}`, ...pinned(['zod', ...driversOf(choices)]) };
  const dependencies = without(needed, has);
  const devDependencies = without(pinned(['@types/node']), has);
  const extended = {
    ...manifest,
    scripts: { ...own, ...without(scripts, (name) => Object.hasOwn(own, name)) },
    ...extend('dependencies', manifest.dependencies, dependencies),
    ...extend('devDependencies', manifest.devDependencies, devDependencies),
  };
  const kept = Object.entries(scripts).filter(
    ([name, text]) => Object.hasOwn(own, name) && own[name] !== text,
  );
  return {
    text: `${JSON.stringify(extended, null, indentOf(project.text))}\n`,
    addedPackages: [...Object.keys(dependencies), ...Object.keys(devDependencies)],
    keptScripts: Object.fromEntries(kept),
  };
}

/** Their functions are called by a cloud, so there is no worker. */
const simulators: Readonly<Partial<Record<Choices['platform'], string>>> = {
  aws: 'lambda',
  azure: 'functions',
};

function scriptsOf({ has, ending, main }: Project, { platform }: Choices): Readonly<Record<string, string>> {
  const simulator = simulators[platform];
  const usesTsx = has('tsx'); // its code may need what Node does not strip
  const node = usesTsx ? 'node --import tsx' : 'node';
  const longshore = usesTsx ? `${node} ${main}` : 'longshore';
  return {
    ...(simulator === undefined
      ? { dev: `${longshore} dev`, worker: `${longshore} work` }
      : { dev: `${longshore} simulate ${simulator}`, package: `${longshore} package ${platform}` }),
    enqueue: `${node} enqueue.${ending}`,
    test: has('vitest') ? 'vitest run' : `${node} --test`,
  };
}

const pinned = (names: readonly Name[]): Readonly<Record<string, string>> =>
  Object.fromEntries(names.map((name) => [name, versions[name]]));

const without = (
  record: Readonly<Record<string, string>>,
  isThere: (name: string) => boolean,
): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(record).filter(([name]) => !isThere(name)));

/** Sorted, as package managers write them; nothing if there is nothing to add. */
function extend(
  field: 'dependencies' | 'devDependencies',
  own: Readonly<Record<string, string>> | undefined,
  added: Readonly<Record<string, string>>,
): object {
  if (Object.keys(added).length === 0) return {};
  const all = Object.entries({ ...own, ...added }).sort(([a], [b]) => (a < b ? -1 : 1));
  return { [field]: Object.fromEntries(all) };
}

const indentOf = (text: string): string => /^\s*\{\s*?\n([ \t]+)"/.exec(text)?.[1] ?? '  ';
