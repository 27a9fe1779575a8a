/** The history of a job: its attempts in order, with their durations, hosts and log lines. */

import type { AttemptReport } from '../../../core/contract/outcome.ts';
import { clockTime, duration } from '../data/format.ts';
import { linkTo } from '../data/route.ts';
import { Empty } from './frame.tsx';
import { Badge } from './status.tsx';
import { Json, LongText, Message, TextLink, Wrapped } from './text.tsx';
import { Moment } from './time.tsx';

export function Attempts({ attempts }: { attempts: readonly AttemptReport[] }) {
  if (attempts.length === 0) return <Empty>No attempt has ended yet, or none is remembered.</Empty>;
  const longest = Math.max(...attempts.map(({ startedAt, endedAt }) => endedAt - startedAt), 1);
  return (
    <ol class="attempts">
      {attempts.map((attempt, i) => (
        <li key={`${attempt.attempt} ${attempt.startedAt} ${i}`}>
          <Attempt attempt={attempt} longest={longest} isLast={i === attempts.length - 1} />
        </li>
      ))}
    </ol>
  );
}

function Attempt({
  attempt: one,
  longest,
  isLast,
}: {
  attempt: AttemptReport;
  longest: number;
  isLast: boolean;
}) {
  const ms = one.endedAt - one.startedAt;
  return (
    <>
      <div class="attempt-line">
        <b>
          {one.attempt}
          {one.maxAttempts !== undefined && ` of ${one.maxAttempts}`}
        </b>
        <Badge word={one.outcome} />
        <Moment at={one.startedAt} />
        <span class="bar" aria-hidden="true">
          <span style={{ width: `${Math.max(1, (ms / longest) * 100)}%` }} />
        </span>
        <span>{duration(ms)}</span>
        {one.worker !== undefined && (
          <TextLink
            href={linkTo(['jobs'], { worker: one.worker })}
            value={
              one.host === undefined || one.host === one.worker ? one.worker : `${one.worker} on ${one.host}`
            }
          />
        )}
      </div>
      {one.error !== null && (
        <div class="error-text">
          {one.error.code !== '' && <code>{one.error.code}</code>}{' '}
          <Message value={one.error.message} label={`Error of attempt ${one.attempt}`} />
        </div>
      )}
      {one.error?.stack !== undefined && (
        <details open={isLast}>
          <summary>Stack</summary>
          <LongText value={one.error.stack} label={`Stack of attempt ${one.attempt}`} />
        </details>
      )}
      {one.log !== undefined && one.log.length > 0 && (
        <details open={isLast}>
          <summary>Log ({one.log.length})</summary>
          <ol class="log">
            {one.log.map(({ at, text }, i) => (
              <li key={String(i)}>
                <time dateTime={new Date(at).toISOString()}>{clockTime(at)}</time> <Wrapped value={text} />
              </li>
            ))}
          </ol>
        </details>
      )}
      {one.output !== null && (
        <details>
          <summary>Output of this attempt</summary>
          <Json value={parsed(one.output)} label={`Output of attempt ${one.attempt}`} />
        </details>
      )}
    </>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
