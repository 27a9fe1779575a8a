/** Postgres for the laws: two openings of one schema, each with connections of its own. */

import { postgres } from '../../local/backends/postgres/index.ts';
import type { Schemas } from '../services/postgres/schemas.ts';
import type { Harness } from '../testing/laws/harness.ts';
import { createVirtualClock } from '../testing/virtual-clock.ts';

/** As seldom as with a connection that hears: so it is a notification that wakes. */
const pollMs = 2_000;

/** @param connections of the first and of the second: a URL or a pool */
export const postgresHarness = (schemas: Schemas, connections: readonly [object, object]): Harness => ({
  async open(options) {
    const clock = createVirtualClock();
    const schema = await schemas.take();
    const [backend, peer] = connections.map((each) =>
      postgres({ ...each, schema, clock, pollMs, ...options }),
    );
    return {
      backend: backend!,
      peer: peer!,
      now: clock.now,
      advance: clock.advance,
      async close() {
        await backend!.close();
        await peer!.close();
        schemas.release(schema);
      },
    };
  },
});
