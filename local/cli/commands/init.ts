import { askOn } from '../../init/ask.ts';
import { backends, choose, platforms } from '../../init/choices.ts';
import { init as initProject, nextSteps, reportOf, stepsText } from '../../init/init.ts';
import { readProject } from '../../init/project.ts';
import { flag } from '../config/flags.ts';
import { defineCommand } from '../definition.ts';

export const init = defineCommand({
  path: 'init',
  summary: 'add Longshore to a package: a job, its test, the config and scripts',
  about: `Writes into the current folder, which has a package.json. It asks where the workers run and which backend holds the jobs. It never changes a file that exists, except package.json, which gets the missing scripts and dependencies. If something fails, nothing is written. Files are .mts where Node takes .ts for CommonJS. \`npm create longshore@latest my-app\` makes a new package with the same files. Backends: ${Object.keys(backends).join(', ')}.`,
  flags: {
    platform: flag(
      '--platform <name>',
      `where the workers run: ${Object.keys(platforms).join(', ')}`,
      String,
    ),
    yes: flag('--yes', 'ask nothing: sqlite on any machine, unless the flags name others'),
  },
  examples: ['longshore init', 'longshore init --yes', 'longshore init --backend postgres --platform docker'],
  async run({ flags, session, io, json, yes, version }) {
    const project = readProject(io.cwd, io.env);
    const hasTerminal = io.isTTY.stdin && io.isTTY.stderr && !json;
    const choices = await choose(
      { platform: flags.platform, backend: session.named, yes },
      hasTerminal ? askOn(io.stdin, io.stderr) : null,
    );
    const done = initProject(project, choices, version);
    const next = nextSteps(done, project);
    return {
      data: { ...done, keptScripts: Object.keys(done.keptScripts), next: next.map(([command]) => command) },
      text: `${reportOf(done, project)}\n\n${stepsText(next)}`,
    };
  },
});
