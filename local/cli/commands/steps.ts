import type { StepView } from '../../../core/features/steps/show.ts';
import { type Column, type Ui, when } from '../output/ui.ts';

/** The steps that a job remembers. */
export function stepsTable(steps: readonly StepView[], ui: Ui): string {
  if (steps.length === 0) return '';
  const columns: readonly Column<StepView>[] = [
    { title: 'step', value: ({ name }) => name },
    { title: 'at', value: ({ at }) => when(at) },
    {
      title: 'state',
      value: ({ state }) => state,
      style: ({ state }) => (state === 'sleeps' || state === 'waits' ? 'yellow' : 'green'),
    },
    { title: 'until', value: ({ until }) => (until === null ? '' : when(until)) },
    { title: 'value', value: ({ value }) => (value === null ? '' : JSON.stringify(value)) },
  ];
  return ui.table(
    steps,
    columns.filter(({ value }) => steps.some((step) => value(step) !== '')),
  );
}
