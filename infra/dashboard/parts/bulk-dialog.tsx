/** Retries or discards many dead letters: first counts them, then acts, slowly if wanted, with a way to stop. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { BulkProgress, BulkResult, DeadLetterSelection } from '../../../core/operations/types.ts';
import type { BulkRequest } from '../../../core/surfaces/dashboard/api.ts';
import { useMayAct } from '../data/act.ts';
import { runBulk } from '../data/bulk.ts';
import { wordsOf } from '../data/client.ts';
import { count, percent, plural } from '../data/format.ts';
import { Dialog } from './dialog.tsx';
import { Trouble } from './frame.tsx';
import { expiry, expiryIn, NumberField } from './number-field.tsx';
import { Text } from './text.tsx';
import { isSure, TypedCount } from './typed-count.tsx';

type BulkAction = 'retry' | 'discard';

/** The bulk action at the time when the user chose it. */
export interface Bulk {
  readonly action: BulkAction;
  readonly selection: DeadLetterSelection;
  /** The selected jobs. */
  readonly words: string;
  /** The only backend of the selection, if one was chosen. */
  readonly backend: string | undefined;
}

interface BulkButtonsProps extends Omit<Bulk, 'action'> {
  /** Text after the verb: ` all`. */
  readonly what?: string;
  readonly onAsk: (bulk: Bulk) => void;
}

/** Only for users who may change something. */
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
  /** Called when something may have changed. */
  readonly onDone: () => void;
}

interface Run {
  readonly doing: 'counting' | 'acting' | null;
  readonly progress: BulkProgress | null;
  /** The result of a dry run, for the limits as they are now. */
  readonly counted: BulkResult | null;
  readonly result: BulkResult | null;
  readonly problem: string | null;
}

const noLimits = { limit: '', perSecond: '', stopAbovePercent: '', hours: '' };
const noRun: Run = { doing: null, progress: null, counted: null, result: null, problem: null };

const numberIn = (name: string, text: string) => text !== '' && { [name]: Number(text) };

export function BulkDialog({ action, selection, words, backend, onClose, onDone }: BulkProps) {
  const [limits, setLimits] = useState(noLimits);
  const [{ doing, progress, counted, result, problem }, setRun] = useState(noRun);
  const [typed, type] = useState('');
  const running = useRef<AbortController | null>(null);
  const isRetry = action === 'retry';
  const many = counted?.total ?? 0;

  async function run(doing: 'counting' | 'acting', request: BulkRequest): Promise<BulkResult | null> {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    type('');
    const tell = (progress: BulkProgress | null): void => setRun({ ...noRun, doing, progress });
    tell(null);
    try {
      return await runBulk(action, request, backend, tell, own.signal);
    } catch (error) {
      const problem = own.signal.aborted
        ? 'Stopped. What was done until then stays done; the audit log has the count.'
        : wordsOf(error);
      if (running.current === own) setRun({ ...noRun, problem });
      return null;
    }
  }
  const common = { ...selection, ...numberIn('limit', limits.limit), ...expiryIn(limits.hours) };
  async function find(): Promise<void> {
    const counted = await run('counting', { ...common, dryRun: true });
    if (counted) setRun({ ...noRun, counted });
  }
  /** At most as many as were counted, because others may have died since. */
  async function act(): Promise<void> {
    const result = await run('acting', {
      ...common,
      limit: many,
      ...numberIn('perSecond', limits.perSecond),
      ...numberIn('stopAbovePercent', limits.stopAbovePercent),
    });
    if (result) setRun({ ...noRun, result });
    onDone();
  }
  useEffect(() => {
    void find();
    return () => running.current?.abort();
  }, []);
  const busy = doing === 'acting';
  const field = (name: keyof typeof noLimits) => ({
    value: limits[name],
    disabled: busy,
    onValue: (value: string) => {
      setLimits({ ...limits, [name]: value });
      if (name !== 'limit' && name !== 'hours') return;
      running.current?.abort();
      running.current = null;
      setRun(noRun);
    },
  });
  return (
    <Dialog title={isRetry ? 'Retry dead letters' : 'Discard dead letters'} locked={busy} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void (counted === null ? find() : act());
        }}
      >
        <p class="dialog-text">
          {isRetry
            ? 'They become ready again, with their attempts forgotten: '
            : 'They are removed for good: '}
          <Text value={words} />
        </p>
        <div class="filter-fields">
          <NumberField label="At most" hint="all" min={1} step={1} {...field('limit')} />
          {isRetry && (
            <>
              <NumberField label="Per second" hint="all at once" min={0.01} {...field('perSecond')} />
              <NumberField
                label="Stop when more than … % fail again"
                hint="never"
                min={0}
                {...field('stopAbovePercent')}
              />
              <NumberField {...expiry} {...field('hours')} />
            </>
          )}
        </div>
        {busy && <BulkState progress={progress} isRetry={isRetry} />}
        <div aria-live="polite" class="dialog-text">
          {doing === 'counting' && <p>Counting them…</p>}
          {counted !== null && <BulkEnd result={counted} isRetry={isRetry} dryRun />}
          {result !== null && <BulkEnd result={result} isRetry={isRetry} />}
        </div>
        {problem !== null && <Trouble>{problem}</Trouble>}
        <footer>
          <TypedCount count={many} value={typed} onValue={type} />
          <button type="button" disabled={busy} onClick={onClose}>
            Close
          </button>
          {busy ? (
            // With keys, so that a button never turns into a submit button while it is clicked.
            <button key="stop" type="button" class="danger" onClick={() => running.current?.abort()}>
              Stop
            </button>
          ) : counted === null ? (
            <button key="count" type="submit" disabled={doing === 'counting'}>
              Count
            </button>
          ) : (
            <button
              key="act"
              type="submit"
              class={isRetry ? 'primary' : 'danger'}
              disabled={many === 0 || !isSure(many, typed)}
            >
              {isRetry ? `Retry ${count(many)}` : `Discard ${count(many)} for good`}
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
  partly:
    'The others were not found: another operator took them, or the queue does not show them at the moment.',
  limit: 'There are more of them.',
  stopped: 'It was stopped.',
  failing: 'Too many failed again, so it stopped.',
} as const;

interface BulkEndProps {
  readonly result: BulkResult;
  readonly isRetry: boolean;
  readonly dryRun?: boolean;
}

function BulkEnd({ result, isRetry, dryRun = false }: BulkEndProps) {
  const { done, total, missing, refused, ended, ran, failedAgain } = result;
  const letters = plural(dryRun ? (total ?? 0) : done, 'dead letter');
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
