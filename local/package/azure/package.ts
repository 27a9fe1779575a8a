/** Bundles a function app, and writes host.json and a template for it. */

import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { config } from '../../../core/base/errors.ts';
import type { App } from '../../../core/kernel/app/app.ts';
import { bundle, mainFile } from '../bundle.ts';
import { manifest, refuseChanged, replaceBundle, writeFiles } from '../files.ts';
import type { AzureDeployment } from '../options.ts';
import { partOn } from '../part.ts';
import { readsIn, settingsIn } from '../settings.ts';
import { hostJson } from './host-json.ts';
import { templateFile } from './names.ts';
import { type AzurePlan, given, planAzure } from './plan.ts';
import { template } from './template.ts';

export interface AzureRequest extends AzureDeployment {
  readonly app: App;
  readonly service: string;
  /** A path. */
  readonly entry: string;
  readonly out: string;
  readonly installed: readonly string[];
  /** `none` = only the bundle. */
  readonly template: 'arm' | 'none';
  readonly force: boolean;
}

export interface AzurePackaged {
  readonly plan: AzurePlan;
  readonly startBytes: number;
  /** Paths of the files that were written besides the bundle. */
  readonly written: readonly string[];
}

/** The function app's folder in that of the template. */
export const codeFolder = 'dist/azure';

/** Throws `CONFIG` before anything is written. */
export async function packageAzure(request: AzureRequest): Promise<AzurePackaged> {
  const { app, service, entry, out, installed, force } = request;
  const temporary = mkdtempSync(join(tmpdir(), 'longshore-package-'));
  try {
    // Only the host has @azure/functions-core.
    const external = ['@azure/functions-core'];
    const bundled = await bundle(entry, temporary, { node: 22, installed, external });
    const needed = bundled.missing.filter((name) => name.startsWith('@azure/') && name !== '@azure/identity');
    if (needed.length > 0)
      throw config(
        `The functions need ${needed.join(', ')}, which is not installed. Run npm install ${needed.join(' ')}.`,
      );
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
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
}
