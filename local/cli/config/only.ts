/** One of the backends that a config exports. */

import type { QueueBackend } from '../../../core/contract/queue.ts';
import { type Backends, isBackend } from '../../../core/kernel/enqueue/backends.ts';
import { usage } from '../errors.ts';
import { hint } from './nearest.ts';

/** Throws `USAGE` for a name that there is not, or that this config does not use. @param name 'default' where none is given */
export function only(
  backend: QueueBackend | Backends,
  name: string | undefined,
  config: string,
): QueueBackend {
  if (isBackend(backend)) {
    if (name === undefined) return backend;
    throw usage(
      `Expected no --backend, because ${config} exports one backend without a name, got "${name}".`,
    );
  }
  const here = Object.keys(backend).filter((one) => backend[one]);
  const asked = name ?? here.find((one) => one === 'default') ?? here[0] ?? 'default';
  const found = Object.hasOwn(backend, asked) ? backend[asked] : null;
  if (found) return found;
  throw usage(
    `Expected --backend to be one of ${here.join(', ') || 'none'}, got "${asked}".${hint(asked, here)}`,
  );
}
