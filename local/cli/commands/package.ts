import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { TemplateName } from '../../package/aws/package.ts';
import { type AwsPlan, variablesOf } from '../../package/aws/plan.ts';
import { kebab } from '../../package/names.ts';
import type { DeploymentConfig } from '../../package/options.ts';
import type { Packaged } from '../../package/package.ts';
import type { Config } from '../config/config.ts';
import { flag } from '../config/flags.ts';
import { checkPackages } from '../config/packages.ts';
import { oneOf } from '../config/values.ts';
import { defineCommand } from '../definition.ts';
import { wrongConfig } from '../errors.ts';
import { bytes } from '../output/ui.ts';

const entryFlag = flag('--entry <file>', 'the file with the functions', (text: string) => text);
const outFlag = flag('--out <folder>', 'where the files are written', (text: string) => text, '.');
const forceFlag = flag('--force', 'overwrite a template that was changed');

const templateNames = ['serverless', 'sam', 'cdk', 'terraform', 'none'] as const satisfies (
  | TemplateName
  | 'none'
)[];

const azureTemplates = ['arm', 'none'] as const;

const packageAws = defineCommand({
  path: 'package aws',
  summary: 'bundle your Lambda functions, and write a template that deploys them',
  about:
    "Bundles the file that exports `worker`, `schedule` and `enqueue` (what lambda() gives) into dist/functions, with one call of esbuild. From the app's queues, timeouts, limits and schedules it writes a template with a role, alarms and the numbers that belong together. It overwrites no template that you have changed; --template none only bundles. Connects to nothing. Needs esbuild.",
  flags: {
    entry: entryFlag,
    out: outFlag,
    template: flag('--template <kind>', templateNames.join(', '), oneOf(templateNames), 'serverless'),
    force: forceFlag,
  },
  examples: [
    'longshore package aws',
    'longshore package aws --entry src/functions.ts --out deploy',
    'longshore package aws --template none',
  ],
  exits: { 1: 'the app cannot run so, or a template was changed; nothing was written' },
  async run({ session, flags, io }) {
    const config = await session.config();
    checkPackages({ esbuild: () => import.meta.resolve('esbuild') });
    const { deployment = {}, simulation } = config;
    const { aws = {}, installed = [] } = deployment;
    const lanes = aws.lanes ?? simulation?.lanes;
    const entry = entryOf(io.cwd, flags.entry, config, aws.entry ?? simulation?.entry ?? 'functions.ts');
    const { packageAws } = await import('../../package/aws/package.ts');
    const packaged = await packageAws({
      ...aws,
      ...(lanes && { lanes }),
      app: config.app,
      service: serviceOf(deployment, config.path),
      entry,
      out: resolve(io.cwd, flags.out),
      installed,
      template: flags.template,
      force: flags.force === true,
    });
    return { data: dataOf(packaged), text: describe(packaged, flags.out) };
  },
});

const packageAzure = defineCommand({
  path: 'package azure',
  summary: 'bundle your Azure function app, and write host.json and a template of its resources',
  about:
    "Bundles the file that calls azure() into dist/azure, with one call of esbuild. From the app's queues and timeouts it writes host.json and an ARM template: the namespace, a queue and a -failed queue each, the function app, its storage, roles without keys, and alerts. It overwrites no file that you have changed; --template none only bundles. Connects to nothing. Needs esbuild.",
  flags: {
    entry: entryFlag,
    out: outFlag,
    template: flag('--template <kind>', azureTemplates.join(', '), oneOf(azureTemplates), 'arm'),
    force: forceFlag,
  },
  examples: ['longshore package azure', 'longshore package azure --entry src/main.ts --out deploy'],
  exits: { 1: 'the app cannot run so, or a file was changed; nothing was written' },
  async run({ session, flags, io }) {
    const config = await session.config();
    checkPackages({ esbuild: () => import.meta.resolve('esbuild') });
    const { deployment = {}, simulation } = config;
    const { azure = {}, installed = [] } = deployment;
    const usual = azure.entry ?? simulation?.functions?.entry ?? 'main.ts';
    const { packageAzure } = await import('../../package/azure/package.ts');
    const { plan, startBytes, written } = await packageAzure({
      ...azure,
      app: config.app,
      service: serviceOf(deployment, config.path),
      entry: entryOf(io.cwd, flags.entry, config, usual),
      out: resolve(io.cwd, flags.out),
      installed,
      template: flags.template,
      force: flags.force === true,
    });
    const { queues, sessions } = plan;
    const settings = plan.settings.map(({ variable }) => variable);
    const text = [
      `${join(flags.out, 'dist/azure')}: a function for each of ${queues.join(', ')}; ${bytes(startBytes)} are loaded at the start.`,
      describeWritten(written, flags.out),
      ...(settings.length > 0
        ? [`Parameters of the template besides the signing keys: ${settings.join(', ')}.`]
        : []),
      ...(installed.length > 0 ? [installFirst(flags.out, 'dist/azure', 'x64')] : []),
    ];
    return { data: { queues, sessions, settings, startBytes, written }, text: text.join('\n') };
  },
});

export const packageCommands = [packageAws, packageAzure];

function entryOf(cwd: string, given: string | undefined, { path }: Config, usual: string): string {
  const entry = given === undefined ? resolve(dirname(path), usual) : resolve(cwd, given);
  if (existsSync(entry)) return entry;
  throw wrongConfig(`There is no file ${relative(cwd, entry)} with functions. Name it with --entry.`);
}

/** The name in package.json, or of the folder, as names of resources may be. */
function serviceOf({ name }: DeploymentConfig, configPath: string): string {
  const given = name ?? nameAbove(dirname(configPath));
  const service = given
    .replace(/^@[^/]*\//, '')
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, '-');
  if (/^[a-z][a-z0-9-]{0,39}$/.test(service)) return service;
  throw wrongConfig(
    `Expected the name of the deployment to be 1 to 40 of a-z 0-9 -, got "${given}". Write \`export const deployment = { name: 'shop' }\` in the config.`,
  );
}

function nameAbove(folder: string): string {
  for (let at = folder; ; at = dirname(at)) {
    const path = join(at, 'package.json');
    const { name } = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as { name?: string }) : {};
    if (name !== undefined) return name;
    if (at === dirname(at)) return basename(folder);
  }
}

const dataOf = ({ plan, startBytes, written }: Packaged<AwsPlan>) => ({
  service: plan.service,
  queues: plan.queues.map(({ name }) => name),
  functions: plan.functions.map(({ name, timeoutS }) => ({ name, timeoutS })),
  startBytes,
  written,
});

function describe({ plan, startBytes, written }: Packaged<AwsPlan>, out: string): string {
  const functions = plan.functions.map(({ name }) => name).join(', ');
  const secrets = variablesOf(plan.functions, (kind) => kind === 'secret');
  return [
    `${join(out, 'dist/functions')}: ${functions}; ${bytes(startBytes)} are loaded at the start.`,
    describeWritten(written, out),
    `Secrets: ${['LONGSHORE_SIGNING_KEYS', ...secrets].map((name) => `${plan.service}/<stage>/${secretName(name)}`).join(', ')}.`,
    ...(plan.installed.length > 0 ? [installFirst(out, 'dist/functions', 'arm64')] : []),
  ].join('\n');
}

const secretName = (variable: string): string => kebab(variable.replace(/^LONGSHORE_/, ''));

const describeWritten = (written: readonly string[], out: string): string =>
  written.length > 0
    ? `Written: ${written.map((path) => join(out, path)).join(', ')}.`
    : 'No other file was written.';

const installFirst = (out: string, folder: string, cpu: string): string =>
  `Before you deploy: npm install --prefix ${join(out, folder)} --os=linux --cpu=${cpu} --libc=glibc`;
