/** `longshore/operator`: look at dead letters, mend them, and steer queues, jobs, schedules and workers. */

export type { StoppedJob } from '../app/breaker.ts';
export type { LimitFilter, LimitPage, LimitView } from '../limits/views.ts';
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
