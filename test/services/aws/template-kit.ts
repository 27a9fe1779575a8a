/** The template that osls makes of serverless.yml, without a network. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createExampleApp } from '../../../examples/app/app.ts';
import { deployment } from '../../../examples/longshore.config.ts';
import { planAws } from '../../../local/package/aws/plan.ts';
import { shared } from '../../kit/shared/shared.ts';

export interface Resource {
  readonly Type: string;
  readonly DeletionPolicy?: string;
  readonly UpdateReplacePolicy?: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever CloudFormation has
  readonly Properties: any;
}

export type Template = Awaited<ReturnType<typeof readTemplate>>;

export const root = resolve(import.meta.dirname, '../../..');
export const prefix = 'longshore-example-dev-';
export const { app } = createExampleApp({} as never); // for its queues and jobs; none runs here

export const plan = planAws(app, {
  ...deployment.aws!,
  service: 'longshore-example',
  environment: deployment.aws!.environment!,
  installed: deployment.installed!,
  exports: ['worker', 'schedule', 'enqueue'],
  hasTable: true,
  readsApiKey: true,
});

export async function readTemplate() {
  const { folder } = await shared('aws');
  const text = readFileSync(join(folder, 'cloudformation-template-update-stack.json'), 'utf8');
  const { Resources: resources } = JSON.parse(text) as { Resources: Readonly<Record<string, Resource>> };

  const ofType = (type: string): [string, Resource['Properties']][] =>
    Object.entries(resources)
      .filter(([, resource]) => resource.Type === type)
      .map(([id, { Properties }]) => [id, Properties]);

  const resourceOf = (arn: { 'Fn::GetAtt': [string, string] }) => resources[arn['Fn::GetAtt'][0]]!.Properties;

  /** Every queue of the app with what stands around it. */
  const sources = ofType('AWS::Lambda::EventSourceMapping').map(([, mapping]) => {
    const queue = resourceOf(mapping.EventSourceArn);
    const policy = queue.RedrivePolicy;
    const physical = queue.QueueName.slice(prefix.length) as string;
    return {
      physical,
      /** Of the app; a lane has that of its queue. */
      name: physical.replace(/-(critical|high|low)$/, ''),
      mapping,
      queue,
      policy,
      deadLetters: resourceOf(policy.deadLetterTargetArn),
      timeout: resourceOf(mapping.FunctionName).Timeout as number,
    };
  });

  /** By their names in serverless.yml. */
  const functions = new Map<string, Resource['Properties']>(
    ofType('AWS::Lambda::Function').map(([id, properties]) => [
      properties.FunctionName.slice(prefix.length),
      { id, ...properties },
    ]),
  );

  return { resources, ofType, resourceOf, sources, functions };
}

/** The resource's id in the template, or the text that is no reference to one. */
export function idOf(resource: unknown): string {
  const { 'Fn::GetAtt': att, 'Fn::Sub': sub } = resource as { 'Fn::GetAtt'?: string[]; 'Fn::Sub'?: string };
  return att?.[0] ?? sub?.replace(/^\$\{(\w+)\.Arn\}/, '$1') ?? String(resource);
}
