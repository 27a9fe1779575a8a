// Prints `N passed, N failed` from vitest's JSON reports. Plain JavaScript: CI calls it with whatever Node the machine has.
// Usage: node count.mjs <exit code of the tests> <report>...

import { existsSync, readFileSync } from 'node:fs';

const [status = '0', ...paths] = process.argv.slice(2);
let [passed, failed] = [0, 0];
for (const path of paths) {
  const report = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
  const { numPassedTests = 0, numFailedTests = 0, testResults = [] } = report;
  // A file that does not load has no tests to count, but it is a failure all the same.
  const broken = testResults.filter(
    (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
  );
  passed += numPassedTests;
  failed += numFailedTests + broken.length;
}

// Style, types and errors outside of any test fail the run too; the counts alone would look like success.
if (status !== '0' && failed === 0)
  console.log(`The tests ended with code ${status} though none of them failed: see above.`);
console.log(`${passed} passed, ${failed} failed`);
