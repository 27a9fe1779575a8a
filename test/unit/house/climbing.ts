/** The imports that climb, today. This list may only shrink. */
export const climbing: readonly string[] = [
  'core/kernel/enqueue/forget.ts → core/features/batches/marks.ts',
  'core/kernel/enqueue/forget.ts → core/features/limits/lines.ts',
  'core/kernel/enqueue/forget.ts → core/features/steps/log.ts',
  'core/kernel/enqueue/prepare.ts → core/features/unique/ask.ts',
  'core/kernel/enqueue/result.ts → core/features/chains/view.ts',
  'core/kernel/enqueue/send.ts → core/features/unique/send.ts',
  'core/kernel/worker/maintenance.ts → core/features/metrics/collector.ts',
  'core/kernel/worker/state.ts → core/features/metrics/collector.ts',
  'core/kernel/worker/worker.ts → core/features/metrics/collector.ts',
];
