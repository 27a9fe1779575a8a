/** `node test/crash-points/replay.ts <scenario> <memory|sqlite> [<call> <fault>]`: one point, or all of a scenario. */

import { type FaultKind, faultKinds } from './faults.ts';
import { callsOf, complaintsAt, failuresOf } from './points.ts';
import { scenarios } from './scenarios/index.ts';
import type { Kind } from './types.ts';

const [name = '', kind = 'memory', call, fault] = process.argv.slice(2);
const scenario = scenarios.find((one) => one.name === name);
const isKind = (text: string): text is Kind => text === 'memory' || text === 'sqlite';

async function main(): Promise<boolean> {
  if (!scenario || !isKind(kind) || (call !== undefined && !faultKinds.includes(fault as FaultKind))) {
    const names = scenarios.map((one) => `"${one.name}"`).join('\n  ');
    process.stderr.write(
      `Usage: node test/crash-points/replay.ts <scenario> <memory|sqlite> [<call> <${faultKinds.join('|')}>]\nScenarios:\n  ${names}\n`,
    );
    return false;
  }
  if (call === undefined) {
    const { points, failures } = await failuresOf(scenario, kind);
    for (const { call, fault, complaints, command } of failures)
      process.stdout.write(`${call} ${fault.kind}: ${complaints.join('; ')}\n  ${command}\n`);
    process.stdout.write(`${points} points, ${failures.length} failed\n`);
    return failures.length === 0;
  }
  const calls = await callsOf(scenario, kind);
  const complaints = await complaintsAt(scenario, kind, { call: Number(call), kind: fault as FaultKind });
  for (const [i, one] of calls.entries())
    process.stdout.write(`${i + 1 === Number(call) ? '>' : ' '} ${i + 1} ${one}\n`);
  process.stdout.write(`${complaints.join('\n') || 'ok'}\n`);
  return complaints.length === 0;
}

process.exitCode = (await main()) ? 0 : 1;
