import { describe, it } from 'vitest';
import { demoTimeoutMs, expectWholeDemo } from '../demo-kit.ts';

describe('the demo', { timeout: demoTimeoutMs }, () => {
  it('does all that it promises, on SQLite', () => expectWholeDemo('sqlite', 10_000));
});
