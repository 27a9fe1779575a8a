/** Files for containers: an image, and services for `docker compose`. */

import type { Backend, Choices } from './choices.ts';
import type { Project } from './project.ts';
import { keepsFile, longshoreOf, metricsPort, stopSeconds, variablesOf, workerOf } from './settings.ts';
import type { NewFile } from './write.ts';

export function dockerFiles(project: Project): readonly NewFile[] {
  const { inWorkspace } = project;
  return [
    { path: 'Dockerfile', text: dockerfile(project) },
    // The folder that is built is the root of the workspace, so this file belongs to the Dockerfile.
    { path: inWorkspace === '' ? '.dockerignore' : 'Dockerfile.dockerignore', text: ignored },
  ];
}

const ignored = `**/.git
**/.longshore
**/.env*
**/node_modules
**/dist
`;

function dockerfile(project: Project): string {
  const { inWorkspace, name } = project;
  const folder = inWorkspace === '' ? '/app' : `/app/${inWorkspace}`;
  const context =
    inWorkspace === ''
      ? `docker build -t ${name} .`
      : `docker build -t ${name} -f ${inWorkspace}/Dockerfile .`;
  return `# ${context}${inWorkspace === '' ? '' : ' in the root of the workspace'}
FROM node:24-slim AS packages
WORKDIR /app
${installSteps(project)}

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR ${folder}
COPY --from=packages /app /app
${inWorkspace === '' ? 'COPY . .\n' : ''}# For a file of SQLite, in a volume.
RUN mkdir .longshore && chown node .longshore
USER node
# Node itself: npm and npx do not hand SIGTERM on, so jobs would be killed instead of drained.
CMD ${JSON.stringify(workerOf(project))}
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \\
  CMD ${JSON.stringify(['node', '-e', probe])}
`;
}

const probe = `fetch('http://127.0.0.1:${metricsPort}/healthz').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))`;

/** Packages without devDependencies, in a layer of their own where it is only one package. */
function installSteps({ inWorkspace, manager: { name } }: Project): string {
  const commands: Readonly<Record<typeof name, string>> = {
    npm: `npm ci --omit=dev${inWorkspace === '' ? '' : ` --workspace ${inWorkspace} --include-workspace-root`}`,
    pnpm: `corepack enable && pnpm install --prod --frozen-lockfile${inWorkspace === '' ? '' : ` --filter ./${inWorkspace}...`}`,
    yarn: 'corepack enable && yarn workspaces focus --production',
  };
  const locks: Readonly<Record<typeof name, string>> = {
    npm: 'package-lock.json',
    pnpm: 'pnpm-lock.yaml',
    yarn: 'yarn.lock .yarnrc.yml',
  };
  const files = inWorkspace === '' ? `package.json ${locks[name]} ./` : '. .';
  return `COPY ${files}\nRUN ${commands[name]}`;
}

/** `docker compose up --build` runs the backend, the migration and a worker. */
export function composeFile(project: Project, choices: Choices): NewFile {
  const { backend } = choices;
  const server = servers[backend];
  const settings = variablesOf(choices).map(
    ({ name, example, inCompose = `\${${name}:?such as ${example}}` }) => `      ${name}: ${inCompose}`,
  );
  const { inWorkspace } = project;
  const build =
    inWorkspace === '' ? '.' : `{ context: ${up(inWorkspace)}, dockerfile: ${inWorkspace}/Dockerfile }`;
  const folder = inWorkspace === '' ? '/app' : `/app/${inWorkspace}`;
  const needsServer = server ? [`      ${server.name}: { condition: ${server.condition} }`] : [];
  const volumes = [
    ...(keepsFile(choices) ? ['  longshore: {}'] : []),
    ...(server ? [`  ${server.name}: {}`] : []),
  ];
  const text = [
    '# LONGSHORE_SIGNING_KEYS=$(npx longshore keys new) docker compose up --build --scale worker=2',
    `name: ${project.name}`,
    'services:',
    '  migrate: # before the workers start',
    `    build: ${build}`,
    `    command: ${JSON.stringify([...longshoreOf(project), 'migrate'])}`,
    '    environment: &environment',
    `      LONGSHORE_SIGNING_KEYS: \${LONGSHORE_SIGNING_KEYS:?npx longshore keys new makes one}`,
    ...settings,
    ...(keepsFile(choices) ? [`    volumes: &files [longshore:${folder}/.longshore]`] : []),
    ...(server ? ['    depends_on:', ...needsServer] : []),
    '  worker:',
    `    build: ${build}`,
    '    environment: *environment',
    ...(keepsFile(choices) ? ['    volumes: *files'] : []),
    '    depends_on:',
    '      migrate: { condition: service_completed_successfully }',
    ...needsServer,
    `    stop_grace_period: ${stopSeconds}s # longer than a drain takes`,
    '    restart: unless-stopped',
    ...(server ? [`  ${server.name}:`, server.text] : []),
    ...(volumes.length > 0 ? ['volumes:', ...volumes] : []),
  ];
  return { path: 'compose.yaml', text: `${text.join('\n')}\n` };
}

const up = (path: string): string => path.replace(/[^/]+/g, '..');

interface Server {
  readonly name: string;
  readonly condition: 'service_healthy' | 'service_started';
  readonly text: string;
}

const servers: Readonly<Partial<Record<Backend, Server>>> = {
  postgres: {
    name: 'postgres',
    condition: 'service_healthy',
    text: `    image: postgres:17
    environment:
      POSTGRES_PASSWORD: \${POSTGRES_PASSWORD:-postgres}
    ports: [127.0.0.1:5432:5432]
    volumes: [postgres:/var/lib/postgresql/data]
    healthcheck: { test: [CMD, pg_isready, -U, postgres], interval: 2s, retries: 30 }`,
  },
  redis: {
    name: 'redis',
    condition: 'service_healthy',
    text: `    image: redis:8
    # Jobs are no cache: Redis writes them to its disk, and refuses new ones when its memory is full.
    command: [redis-server, --appendonly, 'yes', --maxmemory-policy, noeviction]
    ports: [127.0.0.1:6379:6379]
    volumes: [redis:/data]
    healthcheck: { test: [CMD, redis-cli, ping], interval: 2s, retries: 30 }`,
  },
  beanstalkd: {
    name: 'beanstalkd',
    condition: 'service_started',
    text: `    build:
      dockerfile_inline: |
        FROM debian:stable-slim
        RUN apt-get update && apt-get install -y --no-install-recommends beanstalkd && mkdir /jobs && chown beanstalkd /jobs
        USER beanstalkd
    command: [beanstalkd, -b, /jobs] # its log, so that a restart loses no job
    ports: [127.0.0.1:11300:11300]
    volumes: [beanstalkd:/jobs]`,
  },
};
