// Prints `N passed, N failed` from vitest's JSON report. Plain JavaScript: CI calls it with whatever Node the machine has.
// Usage: node count.mjs <report> <exit code of npm test>

import { existsSync, readFileSync } from 'node:fs';

const [path = '', status = '0'] = process.argv.slice(2);
const report = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
const { numPassedTests = 0, numFailedTests = 0, testResults = [] } = report;

// A file that does not load has no tests to count, but it is a failure all the same.
const broken = testResults.filter(
  (file) => file.status === 'failed' && file.assertionResults.every((test) => test.status !== 'failed'),
);
const failed = numFailedTests + broken.length;

// Style, types and errors outside of any test fail the run too; the counts alone would look like success.
if (status !== '0' && failed === 0)
  console.log(`npm test ended with code ${status} though no test failed: see above.`);
console.log(`${numPassedTests} passed, ${failed} failed`);
