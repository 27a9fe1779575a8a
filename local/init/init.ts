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
import { isSupervised } from './settings.ts';
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

function notesOn(project: Project, { platform }: Choices, kept: readonly string[]): readonly string[] {
  const { folder, manifest } = project;
  const isOutside = Object.hasOwn(manifest.devDependencies ?? {}, 'tsx');
  const tsconfig = kept.includes('tsconfig.json') ? readFileSync(join(folder, 'tsconfig.json'), 'utf8') : '';
  const refusesEndings =
    tsconfig !== '' && !/allowImportingTsExtensions|rewriteRelativeImportExtensions/.test(tsconfig);
  return [
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

/** Commands to type next, with what they do. */
export function nextSteps(
  { addedPackages, keptScripts }: Initialized,
  { manager }: Project,
): readonly (readonly [command: string, does: string])[] {
  const run = (name: string): string =>
    keptScripts[name]?.replace(/^longshore /, `${manager.exec} longshore `) ?? manager.run(name);
  return [
    ...(addedPackages.length === 0
      ? []
      : [[manager.install, `installs ${addedPackages.join(', ')}`] as const]),
    [run('dev'), 'runs a worker, and prints the link of the dashboard'],
    [run('enqueue'), 'enqueues a job, in another terminal'],
    [run('test'), 'tests the job'],
  ];
}

export function stepsText(steps: ReturnType<typeof nextSteps>): string {
  const width = Math.max(...steps.map(([command]) => command.length));
  return ['Next:', ...steps.map(([command, does]) => `  ${command.padEnd(width)}  ${does}`)].join('\n');
}
