#!/usr/bin/env node
/** `npm create longshore@latest my-app`: makes a package, installs Longshore, and adds the files of `longshore init`. */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CliError, usage } from '../../local/cli/errors.ts';
import { askOn } from '../../local/init/ask.ts';
import { choose } from '../../local/init/choices.ts';
import { init, nextSteps, reportOf, stepsText } from '../../local/init/init.ts';
import { type Project, projectOf } from '../../local/init/project.ts';
import { install, runProgram } from './install.ts';
import { complaintAbout } from './package-name.ts';

const help = `Usage: npm create longshore@latest <folder> -- [--platform <name>] [--backend <name>] [--yes]`;

async function main(argv: readonly string[]): Promise<void> {
  const { version, engines } = ownManifest();
  checkNode(engines.node);
  const { folder, isHelp, ...given } = parsed(argv);
  if (isHelp) return console.log(help);
  const name = checkFolder(folder);
  const hasTerminal = process.stdin.isTTY && process.stdout.isTTY;
  const choices = await choose(given, hasTerminal ? askOn(process.stdin, process.stdout) : null);
  const target = resolve(folder);
  const made = !existsSync(target);
  const text = `${JSON.stringify(newManifest(name, engines.node), null, 2)}\n`;
  const project = projectOf(target, text, process.env);
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => ending.abort());
  try {
    mkdirSync(target, { recursive: true });
    writeFileSync(join(target, 'package.json'), text);
    const done = init(project, choices, version);
    console.log(`Installing with ${project.manager.name} …`);
    await install(project, ending.signal);
    console.log(reportOf(done, project));
    const steps = nextSteps({ ...done, addedPackages: [] }, project);
    if (choices.backend === 'sqlite') await enqueueFirst(project);
    console.log(`\n${stepsText([[`cd ${folder}`, ''], ...steps])}`);
  } catch (error) {
    clear(target, made);
    throw error;
  }
}

/** The package.json beside this file, in the package. */
function ownManifest(): { readonly version: string; readonly engines: { readonly node: string } } {
  return JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8'));
}

/** @param range `>=22.18` */
function checkNode(range: string): void {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [leastMajor = 0, leastMinor = 0] = range.replace('>=', '').split('.').map(Number);
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return;
  throw wrong(
    `Longshore needs Node ${leastMajor}.${leastMinor} or newer, this is ${process.versions.node}. Install a newer Node (https://nodejs.org) and run it again.`,
  );
}

const wrong = (message: string): CliError => new CliError('CONFIG', 1, message);

function parsed(argv: readonly string[]) {
  const text = { type: 'string' } as const;
  const is = { type: 'boolean' } as const;
  try {
    const { values, positionals } = parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: { platform: text, backend: text, yes: is, help: is },
    });
    const [folder = '', more] = positionals;
    const isHelp = values.help === true;
    if (!isHelp && (folder === '' || more !== undefined))
      throw new Error(`Expected one folder, got ${positionals.length}.`);
    return { ...values, folder, isHelp };
  } catch (error) {
    throw usage(`${(error as Error).message.split('. ')[0]!.replace(/\.?$/, '.')} ${help}`);
  }
}

/** Returns the name of the package. Throws `USAGE` for a name that npm refuses, or a folder that is in use. */
function checkFolder(folder: string): string {
  const path = resolve(folder);
  const name = basename(path);
  const complaint = complaintAbout(name);
  if (complaint !== null)
    throw usage(`A package cannot be called "${name}": the name ${complaint}. Choose another folder.`);
  if (!existsSync(path)) return name;
  const inside = filesIn(path);
  if (inside === null) throw usage(`${path} is a file. Choose another folder.`);
  if (inside.length > 0)
    throw usage(
      `${path} is not empty: it has ${inside.slice(0, 3).join(', ')}. Choose another folder, or run \`npx longshore init\` there.`,
    );
  return name;
}

/** Without `.git`, which a fresh clone has; `null` = it is no folder. */
function filesIn(path: string): readonly string[] | null {
  try {
    return readdirSync(path).filter((name) => name !== '.git');
  } catch {
    return null;
  }
}

const newManifest = (name: string, node: string) => ({
  name,
  version: '0.0.0',
  private: true,
  type: 'module',
  engines: { node },
  scripts: {},
  dependencies: {},
  devDependencies: { typescript: '^7.0.0' },
});

/** So that there is a job to see when the worker starts. */
async function enqueueFirst({ folder, ending }: Project): Promise<void> {
  const { code } = await runProgram(process.execPath, [`enqueue.${ending}`], { folder, isShown: true });
  if (code !== 0) throw wrong('The first job could not be enqueued; see above. Nothing was kept.');
}

/** Removes what was made. @param made whether the folder itself was */
function clear(target: string, made: boolean): void {
  if (made) rmSync(target, { recursive: true, force: true });
  else for (const name of filesIn(target) ?? []) rmSync(join(target, name), { recursive: true, force: true });
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof CliError)) throw error;
  console.error(`${error.code}: ${error.message}`);
  process.exitCode = error.exit;
}
