import type { DashboardOptions } from '../../../core/surfaces/dashboard/index.ts';
import type { HttpServer } from '../../serve.ts';
import { aborted } from '../../waiting.ts';
import { flag } from '../config/flags.ts';
import { given, integer } from '../config/values.ts';
import { defineCommand, type Input, type Values } from '../definition.ts';
import { usage } from '../errors.ts';
import { onEnter, serveDashboard, serveDevelopment } from './serve-dashboard.ts';
import { untilStopped } from './until-stopped.ts';

const flags = {
  port: flag(
    '--port <port>',
    'the port, 0 for any free one (4020, or the next one that is free)',
    integer(0, 65_535),
  ),
  host: flag(
    '--host <address>',
    'the address; any other than a loopback address needs `dashboard` in the config (127.0.0.1)',
    String,
  ),
  authorize: flag(
    '--authorize',
    'use `dashboard` of the config for access on this machine too, for example behind a proxy',
  ),
} as const;

export const dashboard = defineCommand({
  path: 'dashboard',
  summary: 'show queues, jobs and dead letters in a browser, and change them there',
  about:
    'Serves the dashboard on this machine until Ctrl-C. It prints a link that works once, for 15 minutes; on a terminal, Enter prints a new one. To serve other people, export `dashboard = { authorize }` from the config: authorize(request) returns { actor, role } or null.',
  flags,
  examples: [
    'longshore dashboard',
    'longshore dashboard --port 8080',
    'longshore dashboard --host 0.0.0.0 --port 8080',
  ],
  exits: { 0: 'ended by Ctrl-C or SIGTERM' },
  async run(input) {
    const { flags, session, io, json, note } = input;
    const { dashboard: configured } = await session.config();
    const { port, host } = flags;
    const isPublic = host !== undefined && !loopback.includes(host);
    if ((isPublic || flags.authorize) && !configured) {
      throw usage(
        `Expected \`export const dashboard = { authorize }\` in the config for ${isPublic ? `--host ${host}` : '--authorize'}, got none. Without it everybody who reaches the port could see and discard jobs.`,
      );
    }
    const server =
      configured && (isPublic || flags.authorize)
        ? await serveConfigured(input, configured)
        : await serveDevelopment(input, {
            port,
            host,
            anotherLink: 'Press Enter where the dashboard runs, or start it again: it prints another one.',
          });
    const { link = null } = server;
    const url = `${server.url}${(!link && configured?.basePath) || ''}/`;
    const first = link?.() ?? null;
    io.stdout.write(json ? `${JSON.stringify({ url, link: first })}\n` : `${first ?? url}\n`);
    if (link) note('The link works once, for 15 minutes. Enter prints another one, Ctrl-C ends.');
    if ((await session.backend()).inProcess)
      note(
        'The queue of this config is in the memory of a process: nothing of another process is seen here.',
      );
    const silence = link ? onEnter(io, () => io.stdout.write(`${link()}\n`)) : () => {};
    try {
      await untilStopped({ io }, aborted);
    } finally {
      silence();
      await server.close();
    }
    return { data: null, text: '' };
  },
});

/** Serves the users that `authorize` of the config accepts. */
async function serveConfigured(
  { session, flags: { port, host } }: Pick<Input, 'session'> & { readonly flags: Values<typeof flags> },
  configured: DashboardOptions,
): Promise<HttpServer & { link?: undefined }> {
  await session.admin('be shown in a dashboard');
  const { createDashboard } = await import('../../../core/surfaces/dashboard/index.ts');
  return serveDashboard(createDashboard(await session.client(), configured), given({ port, host }));
}

const loopback = ['127.0.0.1', '::1', 'localhost'];
