import { userInfo } from 'node:os';
import { aborted } from '../../waiting.ts';
import { integer } from '../config/values.ts';
import { defineCommand, type Input } from '../definition.ts';
import { usage } from '../errors.ts';
import { untilStopped } from './stopping.ts';

const flags = {
  port: {
    flags: '--port <port>',
    text: 'the port, 0 for any free one (4020, or the next one that is free)',
    parse: integer(0, 65_535),
  },
  host: {
    flags: '--host <address>',
    text: 'the address; another than a loopback address needs `dashboard` in the config (127.0.0.1)',
    parse: String,
  },
  authorize: {
    flags: '--authorize',
    text: 'let in whom `dashboard` in the config lets in, also on this machine, behind a proxy for example',
  },
} as const;

export const dashboard = defineCommand({
  path: 'dashboard',
  summary: 'show queues, jobs and dead letters in a browser, and mend them there',
  about:
    'Serves the dashboard on this machine until Ctrl-C, and prints a link that works once, for 15 minutes; on a terminal Enter prints another one. To serve others, export `dashboard = { authorize }` from the config: authorize(request) returns { actor, role } or null.',
  flags,
  examples: [
    'longshore dashboard',
    'longshore dashboard --port 8080',
    'longshore dashboard --host 0.0.0.0 --port 8080',
  ],
  exits: { 0: 'ended by Ctrl-C or SIGTERM' },
  async run(input) {
    const { flags, session, io, json, note } = input;
    await session.admin('be shown in a dashboard');
    const { dashboard: configured } = await session.config();
    const isPublic = flags.host !== undefined && !loopback.includes(flags.host);
    if ((isPublic || flags.authorize) && !configured) {
      throw usage(
        `Expected \`export const dashboard = { authorize }\` in the config for ${isPublic ? `--host ${flags.host}` : '--authorize'}, got none. Without it everybody who reaches the port could see and discard jobs.`,
      );
    }
    const client = await session.client();
    const { createDashboard } = await import('../../../core/dashboard/index.ts');
    const { serveDashboard } = await import('./serve-dashboard.ts');
    const asks = isPublic || flags.authorize;
    const handler = createDashboard(
      client,
      asks && configured
        ? configured
        : {
            development: {
              actor: actorOf(io.env),
              anotherLink: 'Press Enter where the dashboard runs, or start it again: it prints another one.',
            },
          },
    );
    const { port, host } = flags;
    const server = await serveDashboard(handler, {
      ...(port !== undefined && { port }),
      ...(host !== undefined && { host }),
    });
    const base = `${server.url}${(asks && configured?.basePath) || ''}/`;
    const link = asks ? null : handler.link(server.url);
    io.stdout.write(json ? `${JSON.stringify({ url: base, link })}\n` : `${link ?? base}\n`);
    if (link) note('The link works once, for 15 minutes. Enter prints another one, Ctrl-C ends.');
    if (['memory', 'sync'].includes(client.backend.name))
      note(
        'The queue of this config is in the memory of a process: nothing of another process is seen here.',
      );
    const silence =
      link === null ? () => {} : onEnter(io, () => io.stdout.write(`${handler.link(server.url)}\n`));
    try {
      await untilStopped({ io }, aborted);
    } finally {
      silence();
      await server.close();
    }
    return { data: null, text: '' };
  },
});

const loopback = ['127.0.0.1', '::1', 'localhost'];

/** For the audit log. A user of a container may have no name. */
function actorOf(env: Input['io']['env']): string {
  try {
    return userInfo().username || 'unknown';
  } catch {
    return env.USER || env.USERNAME || 'unknown';
  }
}

/** Where somebody types. Returns how to stop listening. */
function onEnter({ stdin, isTTY }: Input['io'], act: () => void): () => void {
  if (!isTTY.stdin) return () => {};
  const onData = (typed: unknown): void => {
    if (/[\r\n]/.test(String(typed))) act();
  };
  stdin.on('data', onData);
  return () => {
    stdin.off('data', onData);
    stdin.pause();
  };
}
