/** Bundles a function app, and writes host.json and a template for it. */

import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { mainFile } from '../bundle.ts';
import { manifest, refuseChanged, replaceBundle, writeFiles } from '../files.ts';
import type { AzureDeployment } from '../options.ts';
import { type Packaged, type PackageRequest, withBundle } from '../package.ts';
import { partOn } from '../part.ts';
import { readsIn, settingsIn } from '../settings.ts';
import { hostJson } from './host-json.ts';
import { templateFile } from './names.ts';
import { type AzurePlan, given, planAzure } from './plan.ts';
import { template } from './template.ts';

type AzureRequest = AzureDeployment & PackageRequest<'arm'>;

/** The function app's folder in that of the template. */
const codeFolder = 'dist/azure';

const sdk = { scope: '@azure/', optional: ['@azure/identity'] };
/** Only the host has it. */
const external = ['@azure/functions-core'];

/** Throws `CONFIG` before anything is written. */
export function packageAzure(request: AzureRequest): Promise<Packaged<AzurePlan>> {
  const { app, service, entry, out, installed, force } = request;
  return withBundle(entry, { node: 22, installed, external }, sdk, (bundled, temporary) => {
    const plan = planAzure(partOn(app, request.backendName), {
      environment: request.environment ?? (settingsIn(bundled.ownTexts, given) as Record<string, 'secret'>),
      containers: request.containers ?? [],
      sessions: request.sessions,
      hasTable: readsIn(bundled.ownTexts, 'tableStore'),
      hasPayloads: readsIn(bundled.ownTexts, 'blobPayloads'),
    });
    const files: Record<string, string> =
      request.template === 'none'
        ? {}
        : { 'host.json': hostJson(plan), [templateFile]: `${JSON.stringify(template(plan), null, 2)}\n` };
    if (!force) refuseChanged(out, files);
    // The worker of Functions loads `main`.
    writeFiles(temporary, { 'package.json': manifest(entry, { name: service, main: mainFile }, installed) });
    const written = writeFiles(out, files);
    if (existsSync(join(out, 'host.json'))) cpSync(join(out, 'host.json'), join(temporary, 'host.json'));
    replaceBundle(temporary, join(out, codeFolder));
    return { plan, startBytes: bundled.start.bytes, written };
  });
}
