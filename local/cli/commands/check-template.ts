import { dirname, join, resolve } from 'node:path';
import { checksOf } from '../../../core/kit/diagnosis/checks-of.ts';
import { planAws } from '../../package/aws/plan.ts';
import { templateFile } from '../../package/azure/names.ts';
import { planAzure } from '../../package/azure/plan.ts';
import { partOn } from '../../package/part.ts';
import { needsOfQueues } from '../../settings.ts';
import { flag } from '../config/flags.ts';
import { defineCommand } from '../definition.ts';
import { armChecks, armResources } from '../doctor/azure-template.ts';
import {
  hasSchedule,
  hostJsonChecks,
  packagedTemplateAbove,
  sourcesIn,
  templateChecks,
} from '../doctor/deployment.ts';
import { diagnosed, exits, runChecks, strictFlag } from '../doctor/run-checks.ts';
import { resourcesOf } from '../doctor/template-file.ts';
import { needChecks } from '../doctor/template-needs.ts';
import { usage } from '../errors.ts';

const templateFlag = flag('--template <file>', 'the template to look at', (text: string) => text);
const limitMs = 15_000;

const checkAws = defineCommand({
  path: 'check aws',
  summary: 'compare a template of CloudFormation with what the app needs on AWS',
  about:
    'Says which queues, dead letters, rights and settings the template lacks for the jobs, queues and lanes of the app. Takes JSON and YAML: what osls and the CDK make (by default .serverless/cloudformation-template-update-stack.json), a template of AWS SAM, or what `aws cloudformation get-template` prints. Connects to nothing. Every finding has an id that docs/doctor.md explains. YAML needs the package yaml.',
  flags: { template: templateFlag, strict: strictFlag },
  examples: [
    'longshore check aws',
    'longshore check aws --template template.yaml',
    'longshore check aws --template cdk.out/Shop.template.json --strict',
  ],
  exits,
  async run(input) {
    const { session, io, flags } = input;
    const { app, path, simulation, deployment } = await session.config();
    const file = flags.template === undefined ? packagedTemplateAbove(path) : resolve(io.cwd, flags.template);
    if (file === null)
      throw usage('Expected --template, and no packaged template is here. Run osls package, or name a file.');
    const resources = await resourcesOf(file);
    const sources = sourcesIn(resources);
    const lanes = deployment?.aws?.lanes ?? simulation?.lanes;
    const plan = planAws(partOn(app, deployment?.aws?.backendName), {
      ...deployment?.aws,
      ...(lanes && { lanes }),
      service: deployment?.name ?? 'app',
      environment: {},
      installed: [],
      exports: ['worker', 'schedule'],
      hasTable: true,
      readsApiKey: false,
    });
    const checks = [
      ...checksOf(needChecks, { plan, resources, sources }),
      ...checksOf(templateChecks, {
        app,
        needsOf: needsOfQueues(app),
        template: () => sources,
        isScheduled: () => hasSchedule(resources),
      }),
    ];
    return diagnosed(await runChecks(checks, io.clock, limitMs), input);
  },
});

const checkAzure = defineCommand({
  path: 'check azure',
  summary: 'compare an ARM template and host.json with what the app needs on Azure',
  about:
    'Says which queues, rights and settings the template lacks for the queues of the app, and looks at the host.json beside the config. Takes an ARM template in JSON: what longshore package azure writes (by default azure.template.json beside the config), `az bicep build` makes, or `az group export` prints. Connects to nothing. Every finding has an id that docs/doctor.md explains.',
  flags: { template: templateFlag, strict: strictFlag },
  examples: ['longshore check azure', 'longshore check azure --template main.json --strict'],
  exits,
  async run(input) {
    const { session, io, flags } = input;
    const { app, path, deployment } = await session.config();
    const { sessions, containers = [] } = deployment?.azure ?? {};
    const file =
      flags.template === undefined ? join(dirname(path), templateFile) : resolve(io.cwd, flags.template);
    const plan = planAzure(partOn(app, deployment?.azure?.backendName), {
      environment: {},
      containers,
      sessions,
      hasTable: false,
      hasPayloads: false,
    });
    const checks = [
      ...checksOf(armChecks, { plan, resources: armResources(file) }),
      ...hostJsonChecks(app, dirname(path)),
    ];
    return diagnosed(await runChecks(checks, io.clock, limitMs), input);
  },
});

export const checkTemplateCommands = [checkAws, checkAzure];
