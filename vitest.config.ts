import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**', '**/node_modules/**', 'dist/**'],
    globalSetup: ['test/postgres/setup.ts'],
    testTimeout: 20_000,
    pool: 'forks',
  },
});
