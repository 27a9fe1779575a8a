/** Reads the project that `init` writes to. */

import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, posix, relative, sep } from 'node:path';
import { CliError } from '../cli/errors.ts';
import { type Manager, managerOf } from './managers.ts';

/** The fields of package.json that are used here. */
export interface Manifest {
  readonly name?: string;
  readonly type?: string;
  readonly packageManager?: string;
  readonly workspaces?: unknown;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

export interface Project {
  readonly folder: string;
  /** The text of its package.json. */
  readonly text: string;
  readonly manifest: Manifest;
  /** For names of services: without a scope. */
  readonly name: string;
  readonly manager: Manager;
  /** The ending of its TypeScript files: `mts` where Node would take `.ts` for CommonJS. */
  readonly ending: 'ts' | 'mts';
  readonly has: (packageName: string) => boolean;
  /** The command line of Longshore, from the folder. It may be in the root of a workspace. */
  readonly main: string;
  /** The path of the folder in its workspace; `''` = it is the root, or there is no workspace. */
  readonly inWorkspace: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** Throws `CONFIG` if the folder is not a package. */
export function readProject(folder: string, env: Env): Project {
  const path = join(folder, 'package.json');
  if (!existsSync(path))
    throw broken(
      `There is no package.json in ${folder}. Go to the folder of your package, or make a new one: npm create longshore@latest my-app`,
    );
  return projectOf(folder, readFileSync(path, 'utf8'), env);
}

/** @param text of its package.json, which need not be written yet */
export function projectOf(folder: string, text: string, env: Env): Project {
  const manifest = parsed(text, folder);
  const root = rootOf(folder);
  const all = { ...manifest.dependencies, ...manifest.devDependencies };
  const folders = [...between(folder, root)];
  const manager = managerOf(folders, manifest.packageManager, env.npm_config_user_agent);
  return {
    folder,
    text,
    manifest,
    name: (manifest.name ?? basename(folder)).replace(/^@.*\//, ''),
    manager,
    ending: manifest.type === 'module' ? 'ts' : 'mts',
    has: (name) => Object.hasOwn(all, name),
    main: mainFrom(folders, manager),
    inWorkspace: relative(root, folder).split(sep).join('/'),
  };
}

function parsed(text: string, folder: string): Manifest {
  try {
    const manifest = JSON.parse(text) as unknown;
    if (typeof manifest === 'object' && manifest !== null && !Array.isArray(manifest)) return manifest;
  } catch (cause) {
    throw broken(`package.json in ${folder} is no JSON: ${(cause as Error).message}. Correct it first.`);
  }
  throw broken(`Expected package.json in ${folder} to be an object. Correct it first.`);
}

const broken = (message: string): CliError => new CliError('CONFIG', 1, message);

/** The root of the workspace; without one, the folder itself. */
function rootOf(folder: string): string {
  for (let at = dirname(folder); dirname(at) !== at; at = dirname(at)) {
    if (existsSync(join(at, 'pnpm-workspace.yaml'))) return at;
    const path = join(at, 'package.json');
    if (existsSync(path) && parsed(readFileSync(path, 'utf8'), at).workspaces !== undefined) return at;
  }
  return folder;
}

/** The folder, and those above it up to the root. */
function* between(folder: string, root: string): Iterable<string> {
  yield folder;
  if (folder !== root) yield* between(dirname(folder), root);
}

const mainInPackage = 'node_modules/longshore/local/cli/main.js';

/** @param folders from that of the project to the root of the workspace */
function mainFrom(folders: readonly string[], { name }: Manager): string {
  const found = folders.find((at) => existsSync(join(at, mainInPackage)));
  // Before the first install: only pnpm installs into each package of a workspace.
  const holder = found ?? folders.at(name === 'pnpm' ? 0 : -1)!;
  return posix.join(relative(folders[0]!, holder).split(sep).join('/'), mainInPackage);
}
