/** Reads a template of CloudFormation or AWS SAM, in JSON or YAML, as resources of CloudFormation. */

import { readFileSync } from 'node:fs';
import type { ScalarTag } from 'yaml';
import { config } from '../../../core/base/errors.ts';
import { checkPackages } from '../config/packages.ts';
import type { Resources } from './deployment.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Template {
  readonly Resources?: Resources;
  readonly Parameters?: Readonly<Record<string, { readonly Default?: unknown }>>;
  readonly Globals?: { readonly Function?: Fields };
}

/** Throws `CONFIG` for another file. */
export async function resourcesOf(path: string): Promise<Resources> {
  const { Resources: resources, Parameters: parameters = {}, Globals: globals } = await templateIn(path);
  if (typeof resources !== 'object' || resources === null)
    throw config(
      `Expected ${path} to be a template of CloudFormation or SAM, got one without Resources. For osls name .serverless/cloudformation-template-update-stack.json, for the CDK cdk.out/<stack>.template.json.`,
    );
  const filled = withDefaults(resources, parameters) as Resources;
  return Object.fromEntries(
    Object.entries(filled).flatMap(([id, resource]) =>
      resource.Type === 'AWS::Serverless::Function'
        ? plainFunction(id, { ...globals?.Function, ...resource.Properties })
        : [[id, resource] as const],
    ),
  );
}

async function templateIn(path: string): Promise<Template> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (cause) {
    throw config(`Expected --template to name a file, got ${path}: ${(cause as Error).message}.`);
  }
  if (!/\.ya?ml$/.test(path)) return parsed(path, () => JSON.parse(text));
  checkPackages({ yaml: () => import.meta.resolve('yaml') });
  const { parse } = await import('yaml');
  return parsed(path, () => parse(text, { customTags: shortForms, logLevel: 'silent' }));
}

function parsed(path: string, parse: () => unknown): Template {
  try {
    return (parse() ?? {}) as Template;
  } catch (cause) {
    throw config(`Expected ${path} to be JSON or YAML, got: ${(cause as Error).message.split('\n')[0]}.`);
  }
}

/** `!GetAtt Queue.Arn` and the others. */
const shortForms: ScalarTag[] = ['Ref', 'GetAtt', 'Sub'].map((name) => ({
  tag: `!${name}`,
  resolve: (text: string) => (name === 'Ref' ? { Ref: text } : { [`Fn::${name}`]: text }),
}));

function withDefaults(value: unknown, parameters: NonNullable<Template['Parameters']>): unknown {
  if (Array.isArray(value)) return value.map((item) => withDefaults(item, parameters));
  if (typeof value !== 'object' || value === null) return value;
  const { Ref: ref } = value as { readonly Ref?: string };
  if (ref !== undefined && parameters[ref]?.Default !== undefined) return parameters[ref].Default;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, withDefaults(member, parameters)]),
  );
}

/** A function of SAM with its events, as SAM would expand it. */
function plainFunction(id: string, properties: Fields): [string, Resources[string]][] {
  const { Events: events = {} } = properties as {
    Events?: Record<string, { Type: string; Properties?: Fields }>;
  };
  const made = Object.entries(events).flatMap(
    ([name, { Type, Properties = {} }]): [string, Resources[string]][] => {
      if (Type === 'SQS') {
        const { Queue: EventSourceArn, ...rest } = Properties;
        const source = { ...rest, EventSourceArn, FunctionName: { Ref: id } };
        return [[`${id}${name}`, { Type: 'AWS::Lambda::EventSourceMapping', Properties: source }]];
      }
      if (Type === 'ScheduleV2' || Type === 'Schedule')
        return [[`${id}${name}`, { Type: 'AWS::Scheduler::Schedule', Properties }]];
      return [];
    },
  );
  return [[id, { Type: 'AWS::Lambda::Function', Properties: properties }], ...made];
}
