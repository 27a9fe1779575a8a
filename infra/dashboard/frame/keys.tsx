/** The list of keyboard shortcuts. */

import { session } from '../data/client.ts';
import { navigationOf } from '../pages/table.tsx';
import { Dialog } from '../parts/dialog.tsx';

const everywhere: readonly (readonly [string, string])[] = [
  ['/', 'Search'],
  ['j or ↓', 'The next row'],
  ['k or ↑', 'The row before'],
  ['Enter', 'Open the row'],
  ['r', 'Load again'],
  ['Escape', 'Leave a field, close a dialog'],
  ['?', 'These keys'],
];

export function Keys({ onClose }: { onClose: () => void }) {
  const ways = navigationOf(session.get()!).flatMap(({ key, title }) =>
    key ? [[`g ${key}`, title] as const] : [],
  );
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {[...everywhere, ...ways].map(([keys, text]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <footer>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </footer>
    </Dialog>
  );
}
