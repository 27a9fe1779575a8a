/**
 * A job that runs one of a few executables. No shell reads anything, nothing of the worker's environment is passed on,
 * and what the command starts ends with it. `docs/jobs.md` says what that protects from.
 */

import { constants } from 'node:fs';
import { access, open, realpath, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { checkInteger } from '../base/checks.ts';
import { config, PermanentError, shown } from '../base/errors.ts';
import { readTraceparent } from '../base/traceparent.ts';
import { defineJob, type HandlerContext, type Job } from '../kernel/app/job.ts';
import {
  type CommonOptions,
  checkKeptBytes,
  checkOptions,
  checkTexts,
  commonOf,
  isRecord,
} from './checks.ts';
import { type CommandPayload, commandPayload } from './command-payload.ts';
import { type CommandEnd, runCommand } from './process-group.ts';
import { fitJson } from './text.ts';

export interface CommandJobDefinition extends CommonOptions<CommandPayload> {
  /** @default 'command' */
  readonly name?: string;
  /** Absolute paths of the executables that may run; an empty list allows none. */
  readonly allow: readonly string[];
  /** Absolute. @default the worker's working directory */
  readonly cwd?: string;
  /** Environment of every command, beside a fixed PATH and LANG. Nothing is inherited from the worker. */
  readonly env?: Readonly<Record<string, string>>;
  /** Names that a payload may set. @default [] */
  readonly envNames?: readonly string[];
  /** Kept of each output: its start and its end. At most 32_768. @default 16_384 */
  readonly maxOutputBytes?: number;
  /**
   * Between SIGTERM and SIGKILL. The default is below the second that a stopping worker leaves to its handlers, so
   * that a job is released only when its command is gone. @default 800
   */
  readonly killAfterMs?: number;
  /**
   * When the attempt before this one took its worker down, its command may have done half of its work: `run` starts it
   * again with LONGSHORE_PREVIOUSLY_CRASHED=1 in its environment, `fail` sends the job to the dead letters.
   * @default 'run'
   */
  readonly onPreviousCrash?: 'run' | 'fail';
}

/** The output of a command that succeeded, as `status()` shows it. */
export interface CommandResult {
  readonly exitCode: 0;
  readonly stdout: string;
  readonly stderr: string;
  readonly durationMs: number;
}

type Settings = ReturnType<typeof settingsOf>;

const own = ['allow', 'cwd', 'env', 'envNames', 'maxOutputBytes', 'killAfterMs', 'onPreviousCrash'];
const crashName = 'LONGSHORE_PREVIOUSLY_CRASHED';
const basicEnv = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' };

/**
 * With one of these a payload would choose the code that runs, whatever the list of `allow` says. The list of `envNames` is what
 * allows; this only catches a name that should not be on it.
 */
const loaders = new RegExp(
  `^(?:${[
    'PATH|HOME|SHELL|IFS|ENV|SHELLOPTS|BASHOPTS|BASH_(?:ENV|FUNC_.*)|PS4|PROMPT_COMMAND|CDPATH|FPATH|ZDOTDIR',
    'EDITOR|VISUAL|PAGER|LESSOPEN|LESSCLOSE|CLASSPATH|RUBYOPT|RUBYLIB|PHPRC|R_PROFILE.*|TCLLIBPATH',
    '_?JAVA_(?:TOOL_)?OPTIONS|JDK_JAVA_OPTIONS|NODE_(?:OPTIONS|PATH)|PYTHON[A-Z_]*|PERL[A-Z0-9_]*|LUA_.*',
    'GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|OPENSSL_.*|PHP_INI_SCAN_DIR|(?:MAVEN|GRADLE)_OPTS',
    '(?:LD|DYLD|GIT|LONGSHORE|DOTNET|CORECLR|COR|GEM|BUNDLE|NPM_CONFIG|npm_config|ERL|XDG)_.*',
  ].join('|')})$`,
);

/** Throws `CONFIG` for a wrong option. */
export function commandJob(definition: CommandJobDefinition): Job<CommandPayload> {
  const settings = settingsOf(definition);
  return defineJob({
    name: 'command',
    ...commonOf(definition),
    payload: commandPayload(new Set(definition.envNames)),
    handle: (payload, ctx) => run(payload, ctx, settings),
  });
}

function settingsOf(definition: CommandJobDefinition) {
  checkOptions('commandJob', definition, own);
  const { allow, cwd, env = {}, envNames = [], onPreviousCrash = 'run' } = definition;
  const { maxOutputBytes = 16_384, killAfterMs = 800 } = definition;
  checkTexts('commandJob', 'allow', allow);
  for (const path of allow) checkPath('each of allow', path);
  if (cwd !== undefined) checkPath('cwd', cwd);
  checkTexts('commandJob', 'envNames', envNames);
  for (const name of envNames) checkEnvName(name);
  checkEnv(env);
  checkKeptBytes('maxOutputBytes of commandJob()', maxOutputBytes, 2);
  checkInteger('killAfterMs of commandJob()', killAfterMs, 0);
  if (onPreviousCrash !== 'run' && onPreviousCrash !== 'fail')
    throw config(
      `commandJob() expects onPreviousCrash to be "run" or "fail", got ${shown(onPreviousCrash)}.`,
    );
  return { allow, cwd, env, maxOutputBytes, killAfterMs, onPreviousCrash };
}

function checkPath(what: string, path: unknown): void {
  if (typeof path === 'string' && isAbsolute(path) && !path.includes('\0')) return;
  throw config(`commandJob() expects ${what} to be an absolute path, got ${shown(path)}.`);
}

function checkEnvName(name: string): void {
  if (!/^[A-Za-z_][A-Za-z0-9_]{0,127}$/.test(name))
    throw config(`commandJob() expects each of envNames to be a variable's name, got ${shown(name)}.`);
  if (loaders.test(name))
    throw config(
      `commandJob() does not let a payload set ${name}: it decides which code runs. Set it in env if it must be there.`,
    );
}

/** Values are not shown: they are often secrets. */
function checkEnv(env: unknown): void {
  if (!isRecord(env)) throw config(`commandJob() expects env to be an object of strings, got ${shown(env)}.`);
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || /[=\0]/.test(name) || typeof value !== 'string' || value.includes('\0'))
      throw config(
        `commandJob() expects env to have names and strings without NUL, got another ${shown(name)}.`,
      );
  }
}

async function run(payload: CommandPayload, ctx: HandlerContext, settings: Settings): Promise<CommandResult> {
  const { signal } = ctx;
  if (process.platform === 'win32')
    throw new PermanentError('Commands run on Linux and macOS only: Windows has no process groups.');
  if (ctx.previouslyCrashed && settings.onPreviousCrash === 'fail') {
    throw new PermanentError(
      `The attempt before this one ended with its worker, so ${shown(payload.command)} may have done half of its work. It is not run again (onPreviousCrash: "fail").`,
    );
  }
  const { file, argv0 } = await allowed(payload.command, settings.allow);
  const { cwd = process.cwd() } = settings;
  if (!(await isDirectory(cwd)))
    throw new PermanentError(`The working directory ${shown(cwd)} is not there.`);
  const crashed = ctx.previouslyCrashed ? { [crashName]: '1' } : {};
  const { traceparent } = ctx.context;
  const trace = traceparent && readTraceparent(traceparent) ? { TRACEPARENT: traceparent } : {};
  const env = { ...basicEnv, ...trace, ...settings.env, ...payload.env, ...crashed };
  let end: CommandEnd;
  try {
    const { args = [], stdin = null } = payload;
    const { maxOutputBytes, killAfterMs } = settings;
    end = await runCommand({ file, argv0, args, cwd, env, stdin, maxOutputBytes, killAfterMs }, signal);
  } catch (error) {
    throw signal.aborted && error === signal.reason ? error : startError(argv0, error);
  }
  if (end.code === 0) return resultOf(end);
  const how = end.code === null ? `was ended by ${end.signal}` : `ended with exit code ${end.code}`;
  throw new Error(`${shown(argv0)} ${how} after ${end.durationMs} ms.${lastWords(end.stderr)}`);
}

/**
 * The file behind both names, as they are now: neither a link that poses as an allowed command nor one that was swapped
 * since gets through. That file is executed, under the name on the list, because a multi-call binary (busybox) does what
 * it is called, and would take another name from the arguments.
 */
async function allowed(command: string, allow: readonly string[]): Promise<{ file: string; argv0: string }> {
  const file = await realpath(command).catch(() => null);
  if (file === null) throw new PermanentError(`The command ${shown(command)} is not there.`);
  const targets = await Promise.all(allow.map((path) => realpath(path).catch(() => null)));
  const names = allow.filter((_, i) => targets[i] === file);
  const argv0 = names.includes(command) ? command : names[0];
  if (argv0 === undefined || (argv0 !== command && names.length > 1)) {
    throw new PermanentError(`Command ${shown(command)} is not in allow.`);
  }
  const isRegular = (await stat(file)).isFile();
  const isExecutable = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!isRegular || !isExecutable)
    throw new PermanentError(`The command ${shown(command)} is not an executable file.`);
  // The system would hand anything else to a shell.
  if (
    !(await startsAs(file, /^(?:#!|\x7fELF|\xca\xfe\xba\xbe|\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe)/))
  )
    throw new PermanentError(
      `The command ${shown(command)} is neither a program nor a script that begins with #! and its interpreter.`,
    );
  return { file, argv0 };
}

async function startsAs(path: string, pattern: RegExp): Promise<boolean> {
  const file = await open(path).catch(() => null);
  if (!file) return true; // it may be executed without being readable: only programs are
  const { buffer } = await file.read(Buffer.alloc(4), 0, 4).finally(() => file.close());
  return pattern.test(buffer.toString('latin1'));
}

const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/** These will be the same next time; the others (too many processes, no memory) may pass. */
const lasting: ReadonlySet<unknown> = new Set([
  'ENOENT',
  'EACCES',
  'EPERM',
  'ENOEXEC',
  'E2BIG',
  'ENOTDIR',
  'ELOOP',
]);

function startError(name: string, error: unknown): Error {
  const { code } = error as NodeJS.ErrnoException;
  const message = `${shown(name)} could not be started: ${code ?? 'unknown error'}.`;
  return lasting.has(code) ? new PermanentError(message) : new Error(message);
}

/** Half of what a record takes for each output, however many control characters are in it. */
const fits = 30_000;

function resultOf(end: CommandEnd): CommandResult {
  const { durationMs } = end;
  return { exitCode: 0, stdout: fitJson(end.stdout, fits), stderr: fitJson(end.stderr, fits), durationMs };
}

function lastWords(stderr: string): string {
  const text = stderr.trimEnd();
  if (text === '') return '';
  return ` The end of its stderr:\n${text.length > 1000 ? `...${text.slice(-1000)}` : text}`;
}
