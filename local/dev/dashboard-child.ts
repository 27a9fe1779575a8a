/** The dashboard of `longshore dev`: a process of its own, so that it outlives a worker that is killed. */

import { randomBytes } from 'node:crypto';
import type { DashboardCalls, Serve, Served } from './calls.ts';
import type { Child } from './child.ts';

type DashboardChild = Child<DashboardCalls>;

export interface DashboardPorts {
  note(text: string): void;
  start(serve: Serve): DashboardChild;
}

export function createDashboardChild({ note, start }: DashboardPorts) {
  const secret = randomBytes(32).toString('base64url');
  let port: number | null = null;
  let child: DashboardChild | null = null;
  /** Who gives out links: the child, or a worker whose queue nobody else can show. */
  let server: DashboardChild | null = null;
  let isOutdated = false;
  return {
    child: () => child,
    /** A worker runs, with the code of now. Resolves with how it serves the dashboard itself; `null` = it does not. */
    async ready(isAlone: boolean): Promise<Serve | null> {
      if (isAlone) return { secret, port };
      if (isOutdated) await child?.stop();
      if (!child || child.hasEnded()) child = start({ secret, port });
      isOutdated = false;
      return null;
    },
    /** Until a worker runs with the new code, the old one goes on. */
    outdated(): void {
      isOutdated = true;
    },
    serving(by: DashboardChild, served: Served): void {
      server = by;
      if (port === null) {
        note('The dashboard, by a link that works once (Enter prints another one):');
        note(served.link);
      }
      port = served.port; // the page that is open finds it there after a restart
    },
    link(): void {
      server?.peer.ask('link', null).then(note, () => {});
    },
    async skip(ms: number): Promise<void> {
      if (child && !child.hasEnded()) await child.peer.ask('skip', { ms });
    },
  };
}
