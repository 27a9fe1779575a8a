/** `export const deployment` of a longshore.config.ts: what the app itself does not say about its deployment. */

import { checkOptions } from '../../core/base/checks.ts';
import { config, shown } from '../../core/base/errors.ts';
import { didYouMean } from '../../core/base/nearest.ts';

/**
 * A variable of the environment that your own code reads.
 * - `secret`: a reference to a secret of the stage
 * - `parameter`: given at each deployment
 * - `bucket`, `bucket to read`, `payloads`: the name of a bucket that the template makes; `payloads` is the one of `s3Payloads()`
 */
export type Setting = 'secret' | 'parameter' | 'bucket' | 'bucket to read' | 'payloads';
export type Settings = Readonly<Record<string, Setting>>;

export interface DeploymentConfig {
  /** Begins the name of every resource. @default the name in package.json */
  readonly name?: string;
  /** Packages with native code or files. They are installed beside the bundle, for the machine of a function. */
  readonly installed?: readonly string[];
  readonly aws?: AwsDeployment;
  readonly azure?: AzureDeployment;
}

export interface AwsDeployment {
  /** The `backendName` given to `lambda()`, if the app has several backends. @default 'default' */
  readonly backendName?: string;
  /** The file that exports what `lambda()` gives; relative to the config. @default the entry of `simulation`, or functions.ts */
  readonly entry?: string;
  /** The lanes given to `sqs()`. @default the lanes of `simulation` */
  readonly lanes?: Readonly<Record<string, readonly string[]>>;
  /** @default each variable that your own files read is a secret of all functions */
  readonly environment?: Settings;
  /** Further worker functions by their names, each for some of the queues: the function `worker` takes the others. And options of the three. */
  readonly functions?: Readonly<Record<string, FunctionDeployment>>;
}

export interface FunctionDeployment {
  /** The queues that it takes. */
  readonly queues?: readonly string[];
  /** @default that of `aws`; for `enqueue` with API_KEY as a secret */
  readonly environment?: Settings;
  /** The queues of jobs that its jobs enqueue. @default all */
  readonly sendsTo?: readonly string[];
  /** Whether it uses the `installed` packages. @default true */
  readonly usesInstalled?: boolean;
}

/** `optional secret`: may be left out at the deployment. */
export type AzureSetting = 'secret' | 'optional secret' | 'parameter';

export interface AzureDeployment {
  /** The `backendName` given to `azure()`, if the app has several backends. @default 'default' */
  readonly backendName?: string;
  /** The file that calls `azure()`; relative to the config. @default the entry of `simulation.functions`, or main.ts */
  readonly entry?: string;
  /** @default each variable that your own files read is a secret */
  readonly environment?: Readonly<Record<string, AzureSetting>>;
  /** Containers of Blob storage; the first one has the payloads of `blobPayloads()`. @default 'payloads', if it is used */
  readonly containers?: readonly string[];
  /** The queues given as `sessions` to `azure()`. @default those that order their groups */
  readonly sessions?: readonly string[];
}

/** Throws `CONFIG` for an option that there is not. */
export function checkDeployment(deployment: DeploymentConfig): void {
  checkOptions('the deployment', deployment, { name: '', installed: '', aws: '', azure: '' });
  const { aws = {}, azure = {} } = deployment;
  const both = { backendName: '', entry: '', environment: '' } as const;
  checkOptions('aws of the deployment', aws, { ...both, lanes: '', functions: '' });
  checkOptions('azure of the deployment', azure, { ...both, containers: '', sessions: '' });
  checkSettings('aws', aws.environment, awsKinds);
  checkSettings('azure', azure.environment, ['secret', 'optional secret', 'parameter']);
  for (const [name, options] of Object.entries(aws.functions ?? {})) {
    const kinds = { queues: '', environment: '', sendsTo: '', usesInstalled: 'boolean' } as const;
    checkOptions(`function "${name}" of the deployment`, options, kinds);
    checkSettings(`function "${name}"`, options.environment, [
      'secret',
      'parameter',
      'bucket',
      'bucket to read',
    ]);
  }
}

const awsKinds: readonly Setting[] = ['secret', 'parameter', 'bucket', 'bucket to read', 'payloads'];

function checkSettings(
  of: string,
  settings: Readonly<Record<string, string>> = {},
  kinds: readonly string[],
): void {
  for (const [name, kind] of Object.entries(settings))
    if (!kinds.includes(kind))
      throw config(
        `Expected ${name} in the environment of ${of} to be one of ${kinds.join(', ')}, got ${shown(kind)}.${didYouMean(kind, kinds)}`,
      );
}
