/** Finds and loads `longshore.config.*`: the app and its backend, in the user's own code. */

import { existsSync, statSync } from 'node:fs';
import { extname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { hint } from '../../../core/base/nearest.ts';
import type { QueueBackend } from '../../../core/contract/queue.ts';
import type { Stores } from '../../../core/contract/store.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import { type Backends, isBackend as isOne, queuesOn } from '../../../core/kernel/enqueue/backends.ts';
import type { RoutingOptions } from '../../../core/routing/client.ts';
import type { DashboardAuthorize } from '../../../core/surfaces/dashboard/index.ts';
import { checkDeployment, type DeploymentConfig } from '../../package/options.ts';
import type { FunctionsSimulationConfig } from '../../simulate/functions/options.ts';
import type { SimulationConfig } from '../../simulate/lambda/options.ts';
import { CliError, longshoreCode, messageOf, usage, wrongConfig } from '../errors.ts';
import type { Io } from '../io.ts';
import { commonJsModule, similarFile, spotOf, watchLoads } from './broken-file.ts';

export interface Config {
  readonly path: string;
  readonly app: App;
  /** Opens the backend, or all backends by name. */
  readonly backend: () => Promise<QueueBackend | Backends>;
  /** Opens the store beside the backend, or the stores by the names of their backends; `undefined` = the config has none. */
  readonly store: () => Promise<Partial<Stores> | RoutingOptions['store']>;
  readonly failover: RoutingOptions['failover'];
  /** The entry of `longshore simulate`, if the command line has none. */
  readonly simulation: Simulations | undefined;
  /** For `longshore package`. */
  readonly deployment: DeploymentConfig | undefined;
  /** Authorization of the dashboard on a public address. */
  readonly dashboard: DashboardConfig | undefined;
}

interface DashboardConfig {
  readonly authorize: DashboardAuthorize;
  readonly basePath?: string;
  readonly origin?: string;
}

/** The Lambda functions, an Azure function app beside them, or one of the two. */
interface Simulations extends Partial<SimulationConfig> {
  readonly functions?: FunctionsSimulationConfig;
}

/** Tried in this order. */
export const configNames = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map(
  (ending) => `longshore.config.${ending}`,
);

const shape =
  "`export const app = createApp(...)` and `export const backend = sqlite('jobs.db')` (or a function that returns one)";

export async function loadConfig(io: Pick<Io, 'cwd' | 'env'>, given: string | undefined): Promise<Config> {
  const path = findConfig(io, given);
  const shown = relative(io.cwd, path) || path;
  let module: Record<string, unknown>;
  const loads = watchLoads();
  try {
    module = withDefault(await import(/* @vite-ignore */ pathToFileURL(path).href));
  } catch (cause) {
    const spot = spotOf(cause, loads.urls);
    const todo = remedy(cause, loads.urls);
    if (!spot) throw broken(shown, cause, todo);
    const column = spot.column === null ? '' : `, column ${spot.column}`;
    throw broken(relative(io.cwd, spot.path), cause, todo, `line ${spot.line}${column}: `);
  } finally {
    loads.end();
  }
  const { app, backend, store, failover, simulation, deployment, dashboard } = module;
  const names = Object.keys(module).join(', ') || 'nothing';
  if (!isApp(app)) {
    throw wrong(
      `Expected ${shown} to export an app, got ${kindOf(app)} (it exports: ${names}). Write ${shape}.`,
    );
  }
  if (backend === undefined || backend === null) {
    throw wrong(
      `Expected ${shown} to export a backend, got ${kindOf(backend)} (it exports: ${names}). Write ${shape}.`,
    );
  }
  if (store !== undefined && typeof store !== 'function') checkStore(shown, store);
  if (simulation !== undefined) checkSimulation(shown, simulation);
  if (deployment !== undefined && (typeof deployment !== 'object' || deployment === null))
    throw wrong(
      `Expected the deployment of ${shown} to be an object like { aws: { entry: './functions.ts' } }, got ${kindOf(deployment)}.`,
    );
  if (deployment !== undefined) checkDeployment(deployment as DeploymentConfig);
  if (
    dashboard !== undefined &&
    typeof (dashboard as Partial<DashboardConfig> | null)?.authorize !== 'function'
  ) {
    throw wrong(
      `Expected the dashboard of ${shown} to be { authorize: (request) => ({ actor, role }) or null }, got ${kindOf(dashboard)}.`,
    );
  }
  return {
    path,
    app,
    backend: () => openBackend(shown, backend, app),
    store: () => openStore(shown, store),
    failover: failover as RoutingOptions['failover'],
    simulation: simulation as Simulations | undefined,
    deployment: deployment as DeploymentConfig | undefined,
    dashboard: dashboard as DashboardConfig | undefined,
  };
}

/** For a CommonJS module, takes the members of `module.exports`: Node exports only some of them by name. */
function withDefault(module: Record<string, unknown>): Record<string, unknown> {
  const { default: whole, 'module.exports': _, ...named } = module;
  return typeof whole === 'object' && whole !== null ? { ...whole, ...named } : module;
}

function checkSimulation(shown: string, simulation: unknown): void {
  const { entry, functions } = (simulation ?? {}) as {
    entry?: unknown;
    functions?: { entry?: unknown } | null;
  };
  if ([entry, functions?.entry].some((one) => typeof one === 'string')) return;
  throw wrong(
    `Expected the simulation of ${shown} to be { entry: './functions.ts' } for Lambda or { functions: { entry: '../main.ts' } } for Azure, got ${kindOf(simulation)}.`,
  );
}

/** Throws `CONFIG` if there is no config. @param flag the value of `--config`, which comes before LONGSHORE_CONFIG */
export function findConfig({ cwd, env }: Pick<Io, 'cwd' | 'env'>, flag: string | undefined): string {
  const [given, named] =
    flag === undefined ? [env.LONGSHORE_CONFIG || undefined, 'LONGSHORE_CONFIG'] : [flag, '--config'];
  if (given === undefined) {
    const found = configNames.map((name) => join(cwd, name)).find((path) => existsSync(path));
    if (found !== undefined) return found;
    throw wrongConfig(
      `No longshore.config.ts (.mts, .cts, .js, .mjs, .cjs) in ${cwd}. Go to its folder, name it with --config or LONGSHORE_CONFIG, or write one with ${shape}.`,
    );
  }
  const path = resolve(cwd, given);
  if (!existsSync(path)) throw wrongConfig(`There is no file ${path}. Correct ${named}.`);
  if (!statSync(path).isFile() || !/^\.[mc]?[jt]s$/.test(extname(path))) {
    throw wrongConfig(`Expected ${named} to name a .ts, .mts, .js or .mjs file, got ${path}.`);
  }
  return path;
}

/** The exported value. If it is a function, its result. */
async function opened(what: string, exported: unknown): Promise<unknown> {
  try {
    return await (typeof exported === 'function' ? exported() : exported);
  } catch (cause) {
    if (longshoreCode(cause) !== null) throw cause;
    throw wrong(`The ${what} could not be opened: ${messageOf(cause)}`, cause);
  }
}

async function openBackend(
  shown: string,
  exported: unknown,
  app: App,
  name?: string,
): Promise<QueueBackend | Backends> {
  const backend = await opened(`backend of ${shown}`, exported);
  if (hasDefault(backend)) {
    const all: Record<string, QueueBackend | null> = {};
    for (const [name, one] of Object.entries(backend))
      all[name] =
        one === null
          ? null
          : ((await openBackend(`${shown} called ${name}`, one, app, name)) as QueueBackend);
    return all as unknown as Backends;
  }
  if (!isBackend(backend)) {
    throw wrong(
      `Expected the backend of ${shown} to be a QueueBackend such as sqlite('jobs.db'), got ${kindOf(backend)}.`,
    );
  }
  backend.admin?.know?.(name === undefined ? app.queues : queuesOn(app, name));
  return backend;
}

async function openStore(shown: string, exported: unknown): Promise<Partial<Stores> | undefined> {
  const store = await opened(`store of ${shown}`, exported);
  if (store !== undefined) checkStore(shown, store);
  return store as Partial<Stores> | undefined;
}

/** Accepts one store, or several by the names of their backends. */
function checkStore(shown: string, store: unknown): void {
  if (store instanceof Promise) return;
  const all = [store, ...Object.values(store ?? {})] as (Partial<Stores> | null | undefined)[];
  const parts = all.flatMap((one) => [one?.keys, one?.records, one?.workers]);
  if (parts.some((part) => typeof part === 'object' && part !== null)) return;
  throw wrong(
    `Expected the store of ${shown} to be an object with keys, records or workers (or a function that returns one), got ${kindOf(store)}.`,
  );
}

/** Checks the shape and not the class, because the config may import another copy of Longshore. */
function isApp(value: unknown): value is App {
  const app = value as Partial<App> | null | undefined;
  return (
    typeof app?.jobs?.get === 'function' && typeof app.keyRing === 'function' && Array.isArray(app.queues)
  );
}

/** Several backends by name. Each may be a function that returns the backend. */
const hasDefault = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'default');

function isBackend(value: unknown): value is QueueBackend {
  const backend = value as Partial<QueueBackend> | null | undefined;
  const verbs = [backend?.enqueue, backend?.fetch, backend?.ack, backend?.close];
  return typeof backend?.name === 'string' && verbs.every((verb) => typeof verb === 'function');
}

function broken(shown: string, cause: unknown, todo: string, where = ''): CliError {
  const code = longshoreCode(cause);
  const message = messageOf(cause)
    .split('\n')[0]!
    .replace(/^\S+\.json: /, '')
    .replace(/\.?$/, '.');
  const what = code === null ? message : `${code}: ${message}`;
  return wrong(`${shown} could not be loaded: ${where}${what}${todo}`, cause);
}

/** @param urls the files that were loaded */
function remedy(cause: unknown, urls: readonly string[]): string {
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined;
  const message = messageOf(cause);
  const lacking = /Cannot find package '((?:@[^/']+\/)?[^/']+)/.exec(message)?.[1];
  if (code === 'ERR_MODULE_NOT_FOUND' && lacking !== undefined)
    return ` Run npm install ${lacking} in the folder of the config.`;
  if (code === 'ERR_MODULE_NOT_FOUND')
    return similarFile(message) || ' Imports of your own files need their ending, like ./jobs.ts.';
  if (code === 'ERR_IMPORT_ATTRIBUTE_MISSING')
    return " Write import data from './data.json' with { type: 'json' }.";
  if (/outside a module|Unexpected token 'export'/.test(message)) {
    return ' Set "type": "module" in package.json (npm pkg set type=module), or give the file the ending .mts.';
  }
  const missing = /(require|module|exports) is not defined in ES module scope/.exec(message)?.[1];
  if (missing !== undefined) {
    return ` The file is an ES module, because of its ending, an import or "type": "module" in package.json: write ${missing === 'require' ? 'import' : 'export'} in place of ${missing}, or call it longshore.config.cjs and use require alone.`;
  }
  if (code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') {
    return ' Node runs TypeScript by erasing types: no enum, namespace or parameter property.';
  }
  if (/does not provide an export named/.test(message)) {
    const module = commonJsModule(message, urls);
    if (module !== null)
      return ` ${module} is CommonJS: import the whole of it, and take the member from that.`;
    return ' A type needs `import type`, because Node erases types one file at a time.';
  }
  return '';
}

function wrong(message: string, cause?: unknown): CliError {
  return new CliError('CONFIG', 1, message, { cause });
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return 'none';
  if (typeof value === 'function') return 'a function';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'object' ? 'an object of another kind' : `a ${typeof value}`;
}

/** Throws `USAGE` for an unknown name. @param name without it, 'default' */
export function only(
  backend: QueueBackend | Backends,
  name: string | undefined,
  config: string,
): QueueBackend {
  if (isOne(backend)) {
    if (name === undefined) return backend;
    throw usage(
      `Expected no --backend, because ${config} exports one backend without a name, got "${name}".`,
    );
  }
  const here = Object.keys(backend).filter((one) => backend[one]);
  const asked = name ?? here.find((one) => one === 'default') ?? here[0] ?? 'default';
  const found = Object.hasOwn(backend, asked) ? backend[asked] : null;
  if (found) return found;
  throw usage(
    `Expected --backend to be one of ${here.join(', ') || 'none'}, got "${asked}".${hint(asked, here)}`,
  );
}
