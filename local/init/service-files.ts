/** Files for servers: units of systemd or programs of supervisord, and a script that deploys. */

import type { Choices } from './choices.ts';
import type { Project } from './project.ts';
import { keepsFile, longshoreOf, stopSeconds, variablesOf, workerOf } from './settings.ts';
import type { NewFile } from './write.ts';

/** Two workers for all queues, and one that keeps its slots for urgent jobs. */
interface Group {
  readonly name: string;
  readonly queues: readonly string[];
  readonly count: number;
  /** Ports are this and the number of the worker: 9461, 9462. */
  readonly ports: string;
}

const groups: readonly Group[] = [
  { name: 'worker', queues: [], count: 2, ports: '946' },
  { name: 'urgent', queues: ['urgent'], count: 1, ports: '947' },
];

/** Ends now and then, so that what a library leaks goes with it. */
const limits = ['--max-runtime', '1h', '--max-memory', '512mb'];

function commandLine(project: Project, { queues, ports }: Group, number: string): string {
  const [node = '', ...args] = [...workerOf(project, `${ports}${number}`), ...limits];
  const work = args.indexOf('work') + 1;
  return [
    node,
    `--env-file=${envFile(project)}`,
    ...args.slice(0, work),
    ...queues,
    ...args.slice(work),
  ].join(' ');
}

const envFile = ({ name }: Project): string => `/etc/${name}/worker.env`;
const current = ({ name }: Project): string => `/srv/${name}/current`;

/** The settings, in the form of a file for `--env-file`. */
const settingsFile = ({ name }: Project, choices: Choices): NewFile => ({
  path: 'deploy/worker.env.example',
  text: [
    `# /etc/${name}/worker.env, for root and the user ${name} only. The key is made by: npx longshore keys new`,
    'LONGSHORE_SIGNING_KEYS=',
    ...variablesOf(choices).map(({ name, example }) => `${name}=${example}`),
    ...(keepsFile(choices) ? [`SQLITE_FILE=/var/lib/${name}/longshore.db`] : []),
  ]
    .join('\n')
    .concat('\n'),
});

export function systemdFiles(project: Project, choices: Choices): readonly NewFile[] {
  const { name } = project;
  return [
    settingsFile(project, choices),
    ...groups.map((group) => ({
      path: `deploy/${name}-${group.name}@.service`,
      text: unit(project, group),
    })),
    deployScript(project, (group, number) => `systemctl restart ${name}-${group.name}@${number}`),
  ];
}

const unit = (
  project: Project,
  group: Group,
): string => `# /etc/systemd/system/${project.name}-${group.name}@.service
# systemctl enable --now ${numbers(group)
  .map((number) => `${project.name}-${group.name}@${number}`)
  .join(' ')}
[Unit]
Description=${project.name} ${group.name} %i
Wants=network-online.target
After=network-online.target
# A worker that cannot start is tried again for ever.
StartLimitIntervalSec=0

[Service]
Type=exec
User=${project.name}
WorkingDirectory=${current(project)}
StateDirectory=${project.name}
Environment=NODE_ENV=production
ExecStart=/usr/bin/${commandLine(project, group, '%i')}
Restart=always
RestartSec=2
# SIGTERM starts the drain. What is killed before its end runs again elsewhere.
KillMode=mixed
TimeoutStopSec=${stopSeconds}

NoNewPrivileges=yes
PrivateTmp=yes
ProtectSystem=strict
ProtectHome=yes
CapabilityBoundingSet=
LockPersonality=yes
RestrictSUIDSGID=yes

[Install]
WantedBy=multi-user.target
`;

const numbers = ({ count }: Group): readonly string[] => Array.from({ length: count }, (_, i) => `${i + 1}`);

export function supervisordFiles(project: Project, choices: Choices): readonly NewFile[] {
  const restart = (group: Group, number: string) =>
    `supervisorctl restart ${project.name}-${group.name}:${project.name}-${group.name}-${number}`;
  return [
    settingsFile(project, choices),
    { path: 'deploy/supervisord.conf', text: groups.map((group) => program(project, group)).join('\n') },
    deployScript(project, restart),
  ];
}

const program = (project: Project, group: Group): string => `[program:${project.name}-${group.name}]
command=${commandLine(project, group, '%(process_num)d')}
directory=${current(project)}
user=${project.name}
environment=NODE_ENV="production"
process_name=%(program_name)s-%(process_num)d
numprocs=${group.count}
numprocs_start=1
; Urgent jobs first: a lower number starts earlier and stops later.
priority=${group.queues.length > 0 ? 10 : 20}
autorestart=true
; A worker that ends within 5 s has not started. supervisord then waits 1, 2, 3 s and so on, for 20 minutes in all.
startsecs=5
startretries=50
; SIGTERM starts the drain. What is killed before its end runs again elsewhere.
stopsignal=TERM
stopwaitsecs=${stopSeconds}
killasgroup=true
; A file for each process: two processes that write to one cut each other's lines.
stdout_logfile=/var/log/${project.name}/%(program_name)s-%(process_num)d.log
stdout_logfile_maxbytes=20MB
stdout_logfile_backups=5
redirect_stderr=true
`;

/** @param restart the command that restarts one worker, and returns when it has drained and another one is started */
function deployScript(project: Project, restart: (group: Group, number: string) => string): NewFile {
  const { name } = project;
  const workers = groups.flatMap((group) =>
    numbers(group).map((number) => `restart ${group.ports}${number} ${restart(group, number)}`),
  );
  const longshore = longshoreOf(project).slice(1).join(' ');
  return {
    path: 'deploy/deploy.sh',
    isExecutable: true,
    text: `#!/bin/sh
# Deploys the release that this file is in: /srv/${name}/releases/42/deploy/deploy.sh
# It migrates, then restarts one worker after another. If one does not get well, all go back to the release before.
set -eu
release=$(cd "$(dirname "$0")/.." && pwd)
current=${current(project)}
before=$(readlink "$current" || echo "$release")

cd "$release"
${installs[project.manager.name]}
NODE_ENV=production node --env-file=${envFile(project)} ${longshore} migrate

use() {
  ln -s "$1" "$current.new"
  mv -T "$current.new" "$current"
}

# restart PORT COMMAND...: waits for 30 s until the worker on this port is well.
restart() {
  port=$1
  shift
  "$@" || return 1
  node --input-type=module -e '
    const url = "http://127.0.0.1:" + process.argv[1] + "/healthz";
    const until = Date.now() + 30_000;
    const isWell = () => fetch(url).then(({ ok }) => ok, () => false);
    while (!(await isWell())) {
      if (Date.now() > until) process.exit(1);
      await new Promise((wake) => setTimeout(wake, 200));
    }' "$port"
}

restart_all() {
${workers.map((line) => `  ${line} || return 1`).join('\n')}
}

use "$release"
if ! restart_all; then
  echo "A worker of $release did not get well within 30 s. Going back to $before." >&2
  use "$before"
  restart_all || true
  exit 1
fi
`,
  };
}

const installs = {
  npm: 'npm ci --omit=dev',
  pnpm: 'pnpm install --prod --frozen-lockfile',
  yarn: 'yarn workspaces focus --production',
} as const;
