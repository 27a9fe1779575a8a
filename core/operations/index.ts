/** `longshore/operator`: inspect, edit and retry dead letters, and control queues, jobs, schedules and workers. */

export type { LimitFilter, LimitPage, LimitView } from '../features/limits/views.ts';
export type { StoppedJob } from '../kernel/app/breaker.ts';
export { createOperator } from './operator.ts';
export type {
  BulkOptions,
  BulkProgress,
  BulkResult,
  DeadLetterDetail,
  DeadLetterFilter,
  DeadLetterGroup,
  DeadLetterGroups,
  DeadLetterItem,
  DeadLetterItems,
  DeadLetterSelection,
  EditOptions,
  Operator,
  OperatorAction,
  OperatorIdentity,
  RetryOptions,
} from './types.ts';
