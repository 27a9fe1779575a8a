import { describe, it } from 'vitest';
import { memory } from '../../local/backends/memory/index.ts';
import { describeMeetings } from '../testing/meetings/index.ts';
import { withTransactions } from '../testing/transactions.ts';

describeMeetings(
  'memory()',
  {
    async open(clock) {
      const backend = withTransactions(memory({ clock }), () => ({ query: async () => ({ rows: [] }) }));
      return {
        openings: [backend],
        async begin() {
          const { sql, commit, rollback } = await backend.begin!();
          return { tx: sql, commit: () => commit(null as never, async () => true), rollback };
        },
        close: backend.close,
      };
    },
  },
  { describe, it },
);
