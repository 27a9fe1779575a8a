/** The results of actions. */

import { dismiss, notices } from '../data/act.ts';
import { visible } from '../data/format.ts';
import { linkTo } from '../data/route.ts';
import { useStore } from '../data/store.ts';

export function Notices() {
  const all = useStore(notices);
  return (
    <div class="notices" aria-live="polite">
      {all.map(({ key, text, failed, jobId }) => (
        <div key={key} class={failed ? 'notice failed' : 'notice'}>
          <p dir="auto">
            {visible(text)} {jobId !== null && <a href={linkTo(['jobs', jobId])}>Show the job</a>}
          </p>
          <button type="button" class="quiet" aria-label="Close this notice" onClick={() => dismiss(key)}>
            ✕
          </button>
        </div>
      ))}
    </div>
  );
}
