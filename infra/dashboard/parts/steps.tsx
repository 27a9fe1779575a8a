/** What a job remembers of its steps. */

import type { StepView } from '../../../core/steps/show.ts';
import { Text, Wrapped } from './text.tsx';
import { Moment } from './time.tsx';

export const Steps = ({ steps }: { steps: readonly StepView[] }) => (
  <div class="scroll">
    <table>
      <thead>
        <tr>
          <th scope="col">Step</th>
          <th scope="col">State</th>
          <th scope="col">At</th>
          <th scope="col">Until</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {steps.map(({ name, state, at, until, value }) => (
          <tr key={name}>
            <th scope="row">
              <Wrapped value={name} />
            </th>
            <td>
              <Text value={state} />
            </td>
            <td>
              <Moment at={at} />
            </td>
            <td>{until !== null && <Moment at={until} />}</td>
            <td>{value !== null && <Wrapped value={JSON.stringify(value)} />}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
