/** Bundles the functions of an app, and writes a template for them. */

import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { bundle, mainFile } from '../bundle.ts';
import { manifest, refuseChanged, replaceBundle, writeFiles } from '../files.ts';
import type { AwsDeployment } from '../options.ts';
import { type Packaged, type PackageRequest, withBundle } from '../package.ts';
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

type AwsRequest = AwsDeployment & PackageRequest<TemplateName>;

/** The bundle's folder in that of the template. */
const codeFolder = 'dist/functions';

/** Every app with sqs() names the scheduler. */
const sdk = { scope: '@aws-sdk/', optional: ['@aws-sdk/client-scheduler'] };

/** Throws `CONFIG` before anything is written. */
export function packageAws(request: AwsRequest): Promise<Packaged<AwsPlan>> {
  const { app, entry, out, installed, template, force } = request;
  return withBundle(entry, { node: 24, installed }, sdk, (bundled, temporary) => {
    const plan = planAws(partOn(app, request.backendName), {
      ...request,
      environment: request.environment ?? settingsIn(bundled.ownTexts, [...given, apiKey]),
      exports: bundled.exports,
      hasTable: readsIn(bundled.ownTexts, 'dynamoStore'),
      readsApiKey: readsIn(bundled.ownTexts, apiKey),
    });
    const files = template === 'none' ? {} : templates[template](plan);
    if (!force) refuseChanged(out, files);
    writeFiles(temporary, { 'package.json': manifest(entry, { name: plan.service }, installed) });
    replaceBundle(temporary, join(out, codeFolder));
    return { plan, startBytes: bundled.start.bytes, written: writeFiles(out, files) };
  });
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
