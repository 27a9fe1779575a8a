/**
 * All pages, in the order of the navigation. To add one, add a file here and a line in this table; its data is a route of the server, loaded
 * with `useLoad`.
 */

import type { Session } from '../../../core/surfaces/dashboard/api.ts';
import { Alerts } from './alerts.tsx';
import { Audit } from './audit.tsx';
import { Batches } from './batches.tsx';
import { Capabilities } from './capabilities.tsx';
import { ChainPage } from './chain.tsx';
import { DeadGroups } from './dead-groups.tsx';
import { DeadLetterPage } from './dead-letter.tsx';
import { DeadLetterList } from './dead-list.tsx';
import { Faults } from './faults.tsx';
import { Jobs } from './jobs.tsx';
import { Limits } from './limits.tsx';
import { Overview } from './overview.tsx';
import type { PageEntry } from './page.ts';
import { Queues } from './queues.tsx';
import { Schedules } from './schedules.tsx';
import { Workers } from './workers.tsx';

export const pages: readonly PageEntry[] = [
  { path: '', title: 'Overview', key: 'o', View: Overview },
  { path: 'queues', title: 'Queues', key: 'q', View: Queues },
  { path: 'limits', title: 'Limits', key: 'i', View: Limits },
  { path: 'jobs', title: 'Jobs', key: 'j', View: Jobs },
  { path: 'batches', title: 'Batches', key: 'b', View: Batches },
  { path: 'chains', title: 'Chain', from: 'jobs', View: ChainPage },
  { path: 'dead', title: 'Dead letters', key: 'd', View: DeadGroups },
  { path: 'letters', title: 'Dead letters', from: 'dead', View: DeadLetterList },
  { path: 'letter', title: 'Dead letter', from: 'dead', View: DeadLetterPage },
  { path: 'schedules', title: 'Schedules', key: 's', View: Schedules },
  { path: 'workers', title: 'Workers', key: 'w', View: Workers },
  { path: 'alerts', title: 'Alerts', key: 'a', View: Alerts },
  { path: 'audit', title: 'Audit log', key: 'l', View: Audit },
  { path: 'capabilities', title: 'Capabilities', key: 'c', View: Capabilities },
  { path: 'faults', title: 'Faults', key: 'f', shown: ({ faults }) => faults.length > 0, View: Faults },
];

/** The pages in the navigation of this session. */
export const navigationOf = (session: Session): readonly PageEntry[] =>
  pages.filter(({ from, shown }) => from === undefined && (shown?.(session) ?? true));
