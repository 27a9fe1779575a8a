/** What the parts of the backend share. */

import { randomUUID } from 'node:crypto';
import { config, shown } from '../../../core/base/errors.ts';
import type { Stores } from '../../../core/contract/store.ts';
import { createMetadata, type Metadata } from '../../../core/kit/metadata.ts';
import { createWarnings, type Warnings } from '../../../core/kit/warnings.ts';
import { backendDefaults } from '../shared/defaults.ts';
import { aloneStores } from './alone.ts';
import { createLink, type Link } from './link.ts';
import { type Settings, tubePattern } from './options.ts';

export interface BeanstalkdState extends Omit<Settings, 'store' | 'prefix'> {
  readonly link: Link;
  readonly stores: Stores;
  readonly warnings: Warnings;
  readonly metadata: Metadata;
  /** Whether metadata outlives this process. */
  readonly keepsMetadata: boolean;
  /** The keys of metadata begin with it. Stored. */
  readonly scope: string;
  isOpen: boolean;
  /** Throws `CONFIG` for a name that no tube can have. */
  tubeOf(queue: string): string;
  queueOf(tube: string): string;
  /** Adds a queue to those that `tubes` lists. */
  know(queue: string): void;
  /** The tubes with this prefix that the server has, and those that are known. */
  tubes(): Promise<string[]>;
  /** The store has failed, and the job goes on without its metadata. */
  metadataFailed(error: unknown): null;
}

const metadataMs = backendDefaults.retention.deadMs;
const warnAgainMs = 60_000;

export function createState({ store, prefix, ...settings }: Settings): BeanstalkdState {
  const { server, clock } = settings;
  const stores = store ?? aloneStores(clock);
  const link = createLink(server);
  const warnings = createWarnings();
  const known = new Set<string>();
  let warnedAt = Number.NEGATIVE_INFINITY;

  function tubeOf(queue: string): string {
    const tube = `${prefix}${queue}`;
    if (tubePattern.test(tube)) return tube;
    throw config(`Expected a queue whose name can be one of a tube (not begin with -), got ${shown(tube)}.`);
  }

  return {
    ...settings,
    link,
    stores,
    warnings,
    metadata: createMetadata(stores.keys, clock, randomUUID, metadataMs),
    keepsMetadata: store !== undefined,
    scope: `beanstalkd:${server.host}:${server.port}`,
    isOpen: true,
    tubeOf,
    queueOf: (tube) => tube.slice(prefix.length),
    know: (queue) => known.add(tubeOf(queue)),
    async tubes() {
      const there = (await link.tubes()).filter((tube) => tube.startsWith(prefix) && tubePattern.test(tube));
      return [...new Set([...known, ...there])].filter((tube) => tube.length > prefix.length).sort();
    },
    metadataFailed(error) {
      const now = performance.now();
      if (now - warnedAt > warnAgainMs) {
        warnedAt = now;
        warnings.warn(`The store of beanstalkd() has failed, so some attempts are counted wrongly: ${error}`);
      }
      return null;
    },
  };
}
