/** Projects for `longshore simulate lambda`. */

import { join } from 'node:path';
import { root } from '../../e2e/cli/kit.ts';

export const at = (path: string): string => JSON.stringify(join(root, path));

/** The jobs of test/services/aws/runtime, and somebody who enqueues some of them. */
export const configFor = (hows: readonly string[]): string => `
  import { connect } from ${at('core/index.ts')};
  import { sqs } from ${at('functions/aws/index.ts')};
  import { memory } from ${at('local/backends/memory/index.ts')};
  import { app } from ${at('test/services/aws/runtime-app.ts')};
  export { app };
  export const backend = () => memory();
  export const simulation = {
    entry: ${at('test/services/aws/runtime-main.ts')},
    async start({ sqsEndpoint: endpoint, queueUrl }) {
      const client = connect(app, sqs({ endpoint, queueUrl }), { store: memory().stores });
      return {
        async play() {
          for (const how of ${JSON.stringify(hows)}) await client.enqueue(app.jobs.get('ends'), { how });
        },
        stop: () => client.close(),
      };
    },
  };`;
