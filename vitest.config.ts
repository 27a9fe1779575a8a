import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**', '**/node_modules/**', 'dist/**'],
    globalSetup: ['test/services/postgres/setup.ts'],
    testTimeout: 20_000,
    // As long as a test may take: a machine that is busy is no fault of what is waited for.
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // Most files wait for servers and for other processes. On two cores they would run one after the other by default.
    maxWorkers: 2,
  },
});
