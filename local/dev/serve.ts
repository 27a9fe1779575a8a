/** The dashboard of `longshore dev`, in the process that serves it. */

import { serveDevelopment } from '../cli/commands/serve-dashboard.ts';
import type { Input } from '../cli/definition.ts';
import type { DashboardCalls, Serve, SupervisorCalls } from './calls.ts';
import { faultInfos } from './fault-names.ts';
import type { Peer } from './peer.ts';

interface ServingOptions {
  readonly supervisor: Peer<SupervisorCalls>;
  /** What the supervisor may ask: gets what it may ask of a dashboard. */
  readonly calls: Partial<DashboardCalls>;
  /** For the first time; `undefined` = the usual one. */
  readonly port: number | undefined;
  readonly hasFaults: boolean;
}

/** Returns how to serve; that resolves with how to end it. */
export function serving(
  { io, session }: Pick<Input, 'io' | 'session'>,
  { supervisor, calls, port, hasFaults }: ServingOptions,
) {
  return async ({ secret, port: last }: Serve): Promise<() => Promise<void>> => {
    const list = hasFaults ? faultInfos((await session.config()).app, await session.backend()) : [];
    const cause = (name: string) => supervisor.ask('cause', { name });
    const served = await serveDevelopment(
      { io, session },
      {
        port: last ?? port,
        secret,
        anotherLink: 'Press Enter where `longshore dev` runs: it prints another one.',
        ...(list.length > 0 && { faults: { list, cause } }),
      },
    );
    calls.link = served.link;
    await supervisor.ask('serving', { port: served.port, link: served.link() });
    return served.close;
  };
}
