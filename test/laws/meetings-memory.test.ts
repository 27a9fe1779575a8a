import { describe, it } from 'vitest';
import { memory } from '../../local/backends/memory/index.ts';
import { describeMeetings } from '../testing/meetings/index.ts';

describeMeetings(
  'memory()',
  {
    async open(clock) {
      const backend = memory({ clock });
      return { openings: [backend], close: backend.close };
    },
  },
  { describe, it },
);
