/** `longshore init`: adds Longshore to a package. `npm create longshore` makes the package first, and then does the same. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Choices, Platform } from './choices.ts';
import { codeFiles } from './code-files.ts';
import { composeFile, dockerFiles } from './container-files.ts';
import { kubernetesFile } from './kubernetes-file.ts';
import { extendManifest } from './manifest.ts';
import type { Project } from './project.ts';
import { supervisordFiles, systemdFiles } from './service-files.ts';
import { hasUrgentQueue, isSupervised, variablesOf } from './settings.ts';
import { type NewFile, type Written, writeFiles } from './write.ts';

export interface Initialized extends Written, Choices {
  readonly addedPackages: readonly string[];
  /** Scripts of the user that have a name of ours, with what ours would run. */
  readonly keptScripts: Readonly<Record<string, string>>;
  /** Changes that the user has to make, in sentences. */
  readonly notes: readonly string[];
}

const platformFiles: Readonly<Record<Platform, (project: Project, choices: Choices) => readonly NewFile[]>> =
  {
    machine: () => [],
    docker: (project, choices) => [...dockerFiles(project), composeFile(project, choices)],
    kubernetes: (project, choices) => [...dockerFiles(project), kubernetesFile(project, choices)],
    systemd: systemdFiles,
    supervisord: supervisordFiles,
    aws: () => [],
    azure: () => [],
  };

/** Writes all that is missing, or nothing. @param version of Longshore */
export function init(project: Project, choices: Choices, version: string): Initialized {
  const { text, ...changes } = extendManifest(project, choices, version);
  const files = [...codeFiles(project, choices), ...platformFiles[choices.platform](project, choices)];
  const { written, kept } = writeFiles(project.folder, files, text);
  return { ...choices, written, kept, ...changes, notes: notesOn(project, choices, kept) };
}

function notesOn(project: Project, choices: Choices, kept: readonly string[]): readonly string[] {
  const { folder, manifest } = project;
  const { platform } = choices;
  const settings = variablesOf(choices).map(({ name, example }) => `${name} (${example})`);
  const isOutside = Object.hasOwn(manifest.devDependencies ?? {}, 'tsx');
  const tsconfig = kept.includes('tsconfig.json') ? readFileSync(join(folder, 'tsconfig.json'), 'utf8') : '';
  const refusesEndings =
    tsconfig !== '' && !/allowImportingTsExtensions|rewriteRelativeImportExtensions/.test(tsconfig);
  const hasOwnApp = kept.some((path) => /^(jobs|longshore\.config)\.m?ts$/.test(path));
  return [
    ...(hasUrgentQueue(platform) && hasOwnApp
      ? [
          'One worker takes the queue urgent: declare it, `createApp({ queues: { urgent: {} } })`, or leave out that worker.',
        ]
      : []),
    ...(settings.length > 0 ? [`It is set up by environment variables: ${settings.join(', ')}.`] : []),
    ...(isSupervised(platform) && isOutside
      ? ['A release has no devDependencies, and the worker needs tsx. Move it to dependencies.']
      : []),
    ...(refusesEndings
      ? [
          'The new files import one another with their endings. Add "rewriteRelativeImportExtensions": true to tsconfig.json.',
        ]
      : []),
  ];
}

/** Lists the files that were written and kept. */
export function reportOf({ written, kept, keptScripts, notes }: Initialized, { folder }: Project): string {
  const scripts = Object.entries(keptScripts).map(
    ([name, text]) => `  script ${name}; ours would be: ${text}`,
  );
  return [
    `Written to ${folder}:`,
    ...['package.json', ...written].map((path) => `  ${path}`),
    ...(kept.length + scripts.length === 0
      ? []
      : ['Kept as they are:', ...kept.map((path) => `  ${path}`), ...scripts]),
    ...notes,
  ].join('\n');
}

type Step = readonly [command: string, does: string];

/** Commands to type next, with what they do. */
export function nextSteps(
  { addedPackages, keptScripts, platform }: Initialized,
  { manager }: Project,
): readonly Step[] {
  const run = (name: string): string =>
    keptScripts[name]?.replace(/^longshore /, `${manager.exec} longshore `) ?? manager.run(name);
  const install: readonly Step[] = [[manager.install, `installs ${addedPackages.join(', ')}`]];
  const test: Step = [run('test'), 'tests the job'];
  const bundle: Step = [run('package'), 'bundles the functions, and writes a template for them'];
  const steps: Readonly<Partial<Record<Platform, readonly Step[]>>> = {
    docker: [['docker compose up --build', 'runs it in containers']],
    aws: [
      [`${manager.addTools} ${lambdaTools}`, 'brings an SQS, a DynamoDB and the runtime of Lambda'],
      [run('dev'), 'runs the functions as Lambda does'],
      [run('enqueue'), 'enqueues a job, in another terminal with the variables that the simulation prints'],
      test,
      bundle,
    ],
    azure: [
      [`${manager.addTools} esbuild`, 'brings a bundler'],
      [run('dev'), 'runs the functions as Azure does'],
      test,
      bundle,
    ],
  };
  const usual: readonly Step[] = [
    [run('dev'), 'runs a worker, and prints the link of the dashboard'],
    [run('enqueue'), 'enqueues a job, in another terminal'],
    test,
  ];
  const own = steps[platform] ?? [];
  return [
    ...(addedPackages.length === 0 ? [] : install),
    ...(platform === 'aws' || platform === 'azure' ? own : [...usual, ...own]),
  ];
}

const lambdaTools = 'aws-lambda-ric dynalite esbuild fauxqs';

export function stepsText(steps: readonly Step[]): string {
  const width = Math.max(...steps.map(([command]) => command.length));
  const lines = steps.map(([command, does]) => `  ${command.padEnd(width)}  ${does}`.trimEnd());
  return ['Next:', ...lines].join('\n');
}
