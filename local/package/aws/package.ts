/** Bundles the functions of an app, and writes a template for them. */

import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { config } from '../../../core/base/errors.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import { type Bundle, bundle, mainFile } from '../bundle.ts';
import { manifest, refuseChanged, replaceBundle, writeFiles } from '../files.ts';
import type { AwsDeployment } from '../options.ts';
import { partOn } from '../part.ts';
import { readsIn, settingsIn } from '../settings.ts';
import { cdkFiles } from './cdk.ts';
import { type AwsPlan, apiKey, given, planAws } from './plan.ts';
import { samFiles } from './sam.ts';
import { serverlessFiles } from './serverless.ts';
import { terraformFiles } from './terraform.ts';

/** Files by path, for each tool that deploys. */
export const templates = {
  serverless: serverlessFiles,
  sam: samFiles,
  cdk: cdkFiles,
  terraform: terraformFiles,
} satisfies Record<string, (plan: AwsPlan) => Record<string, string>>;

export type TemplateName = keyof typeof templates;

export interface PackageRequest extends AwsDeployment {
  readonly app: App;
  readonly service: string;
  /** A path. */
  readonly entry: string;
  readonly out: string;
  readonly installed: readonly string[];
  /** `none` = only the bundle. */
  readonly template: TemplateName | 'none';
  readonly force: boolean;
}

export interface Packaged {
  readonly plan: AwsPlan;
  readonly startBytes: number;
  /** Paths of the files of the template that were written. */
  readonly written: readonly string[];
}

/** The bundle's folder in that of the template. */
export const codeFolder = 'dist/functions';

/** Throws `CONFIG` before anything is written. */
export async function packageAws(request: PackageRequest): Promise<Packaged> {
  const { app, entry, out, installed, template, force } = request;
  const temporary = mkdtempSync(join(tmpdir(), 'longshore-package-'));
  try {
    const bundled = await bundle(entry, temporary, { node: 24, installed });
    const hasTable = readsIn(bundled.ownTexts, 'dynamoStore');
    refuseMissing(bundled);
    const plan = planAws(partOn(app, request.backendName), {
      ...request,
      environment: request.environment ?? settingsIn(bundled.ownTexts, [...given, apiKey]),
      exports: bundled.exports,
      hasTable,
      readsApiKey: readsIn(bundled.ownTexts, apiKey),
    });
    const files = template === 'none' ? {} : templates[template](plan);
    if (!force) refuseChanged(out, files);
    writeFiles(temporary, { 'package.json': manifest(entry, { name: plan.service }, installed) });
    replaceBundle(temporary, join(out, codeFolder));
    return { plan, startBytes: bundled.start.bytes, written: writeFiles(out, files) };
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}

/** For a simulation: readable, or as it was bundled before. @param entry the file of the functions, or the main.mjs of a bundle */
export async function buildFunctions(
  entry: string,
  folder: string,
  installed: readonly string[],
): Promise<{ readonly usesDynamo: boolean }> {
  if (basename(entry) !== mainFile) {
    const node = Number(process.versions.node.split('.')[0]);
    const { ownTexts } = await bundle(entry, folder, { node, installed, readable: true });
    return { usesDynamo: readsIn(ownTexts, 'dynamoStore') };
  }
  const parts = readdirSync(dirname(entry)).filter((name) => name.endsWith('.mjs'));
  for (const name of parts) copyFileSync(join(dirname(entry), name), join(folder, name));
  // A message of dynamoStore() is in the code that calls it.
  const texts = parts.map((name) => readFileSync(join(folder, name), 'utf8'));
  return { usesDynamo: readsIn(texts, 'dynamoStore') };
}

/** Every app with sqs() names them, and few use them. */
const optionalSdks = ['@aws-sdk/client-scheduler'];

function refuseMissing({ missing }: Bundle): void {
  const needed = missing.filter((name) => name.startsWith('@aws-sdk/') && !optionalSdks.includes(name));
  if (needed.length === 0) return;
  throw config(
    `The functions need ${needed.join(', ')}, which is not installed. Run npm install ${needed.join(' ')}.`,
  );
}
