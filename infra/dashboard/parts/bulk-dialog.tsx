/** Retries or discards many dead letters: first how many that is, then slowly if wanted, with a way to stop. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { BulkProgress, BulkResult, DeadLetterSelection } from '../../../core/operator/types.ts';
import { useMayAct } from '../data/act.ts';
import { runBulk } from '../data/bulk.ts';
import { wordsOf } from '../data/client.ts';
import { count, percent, plural } from '../data/format.ts';
import { Dialog } from './dialog.tsx';
import { Trouble } from './frame.tsx';
import { Text } from './text.tsx';

type BulkAction = 'retry' | 'discard';

/** What is asked for, as it was when somebody asked. */
export interface Bulk {
  readonly action: BulkAction;
  readonly selection: DeadLetterSelection;
  /** What is selected. */
  readonly words: string;
}

interface BulkButtonsProps extends Omit<Bulk, 'action'> {
  /** After the verb: ` all`. */
  readonly what?: string;
  readonly onAsk: (bulk: Bulk) => void;
}

/** For people who may change something. */
export function BulkButtons({ what = '', onAsk, ...asked }: BulkButtonsProps) {
  if (!useMayAct()) return null;
  return (
    <>
      <button type="button" onClick={() => onAsk({ action: 'retry', ...asked })}>
        Retry{what}…
      </button>
      <button type="button" onClick={() => onAsk({ action: 'discard', ...asked })}>
        Discard{what}…
      </button>
    </>
  );
}

interface BulkProps extends Bulk {
  readonly onClose: () => void;
  /** Something may have changed. */
  readonly onDone: () => void;
}

interface Limits {
  readonly limit: string;
  readonly perSecond: string;
  readonly stopAbovePercent: string;
  readonly expiresInHours: string;
}

const none: Limits = { limit: '', perSecond: '', stopAbovePercent: '', expiresInHours: '' };

const numbersOf = ({ limit, perSecond, stopAbovePercent, expiresInHours }: Limits) => ({
  ...(limit !== '' && { limit: Number(limit) }),
  ...(perSecond !== '' && { perSecond: Number(perSecond) }),
  ...(stopAbovePercent !== '' && { stopAbovePercent: Number(stopAbovePercent) }),
  ...(expiresInHours !== '' && { expiresInMs: Math.round(Number(expiresInHours) * 3_600_000) }),
});

export function BulkDialog({ action, selection, words, onClose, onDone }: BulkProps) {
  const [limits, setLimits] = useState(none);
  const [progress, setProgress] = useState<BulkProgress | null>(null);
  const [result, setResult] = useState<(BulkResult & { dryRun: boolean }) | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const running = useRef<AbortController | null>(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => () => running.current?.abort(), []);
  const isRetry = action === 'retry';

  async function start(dryRun: boolean): Promise<void> {
    const own = new AbortController();
    running.current = own;
    setBusy(true);
    setProblem(null);
    setResult(null);
    setProgress(null);
    try {
      const request = { ...selection, ...numbersOf(limits), ...(dryRun && { dryRun }) };
      setResult({ ...(await runBulk(action, request, setProgress, own.signal)), dryRun });
    } catch (error) {
      setProblem(
        own.signal.aborted
          ? 'Stopped. What was done until then stays done; the audit log has the count.'
          : wordsOf(error),
      );
    }
    setBusy(false);
    if (!dryRun) onDone();
  }
  const field = (name: keyof Limits, label: string, hint: string, min: number, step: number | 'any' = 1) => (
    <label>
      <span>{label}</span>
      <input
        type="number"
        min={min}
        step={step}
        inputMode="decimal"
        placeholder={hint}
        value={limits[name]}
        disabled={busy}
        onInput={({ currentTarget }) => setLimits({ ...limits, [name]: currentTarget.value })}
      />
    </label>
  );
  return (
    <Dialog title={isRetry ? 'Retry dead letters' : 'Discard dead letters'} locked={busy} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void start(false);
        }}
      >
        <p class="dialog-text">
          {isRetry
            ? 'They become ready again, with their attempts forgotten: '
            : 'They are removed for good: '}
          <Text value={words} />
        </p>
        <div class="filter-fields">
          {field('limit', 'At most', 'all', 1)}
          {isRetry && field('perSecond', 'Per second', 'all at once', 0.01, 'any')}
          {isRetry && field('stopAbovePercent', 'Stop when more than … % fail again', 'never', 0, 'any')}
          {isRetry && field('expiresInHours', 'New expiry, hours from now', 'as it is', 0.01, 'any')}
        </div>
        {busy && <BulkState progress={progress} isRetry={isRetry} />}
        <div aria-live="polite" class="dialog-text">
          {result !== null && <BulkEnd result={result} isRetry={isRetry} />}
        </div>
        {problem !== null && <Trouble>{problem}</Trouble>}
        <footer>
          <button type="button" disabled={busy} onClick={onClose}>
            Close
          </button>
          <button type="button" disabled={busy} onClick={() => void start(true)}>
            Dry run
          </button>
          {busy ? (
            // Keys, so that a button never turns into one that submits while it is clicked.
            <button key="stop" type="button" class="danger" onClick={() => running.current?.abort()}>
              Stop
            </button>
          ) : (
            <button key="start" type="submit" class={isRetry ? 'primary' : 'danger'}>
              {isRetry ? 'Retry' : 'Discard'}
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}

function BulkState({ progress, isRetry }: { progress: BulkProgress | null; isRetry: boolean }) {
  if (progress === null) return <p>Looking for them…</p>;
  const { done, total, ran, failedAgain } = progress;
  return (
    <>
      <progress aria-label="Progress" max={total ?? 1} {...(total !== null && { value: done })} />
      <p>
        {count(done)}
        {total !== null && ` of ${count(total)}`} {isRetry ? 'retried' : 'discarded'}
        {ran > 0 && `; ${count(ran)} ran, ${count(failedAgain)} failed again (${percent(failedAgain / ran)})`}
      </p>
    </>
  );
}

const endings = {
  all: '',
  limit: 'The limit was reached.',
  stopped: 'It was stopped.',
  failing: 'Too many failed again, so it stopped.',
} as const;

function BulkEnd({ result, isRetry }: { result: BulkResult & { dryRun: boolean }; isRetry: boolean }) {
  const { done, total, dryRun, missing, refused, ended, ran, failedAgain } = result;
  const letters = plural(dryRun ? (total ?? done) : done, 'dead letter');
  return (
    <>
      <p>
        <b>
          {dryRun
            ? `${letters} would be ${isRetry ? 'retried' : 'discarded'}.`
            : `${letters} ${isRetry ? 'retried' : 'discarded'}.`}
        </b>{' '}
        {endings[ended]} {ran > 0 && `${count(failedAgain)} of ${count(ran)} failed again.`}
        {missing.length > 0 && ` ${plural(missing.length, 'is', 'are')} there no longer.`}
      </p>
      {refused.length > 0 && (
        <>
          <p>{plural(refused.length, 'stays as it is', 'stay as they are')}:</p>
          <ul class="refused">
            {refused.slice(0, 20).map(({ id, why }) => (
              <li key={id}>
                <Text value={id} mono /> <Text value={why} />
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}
