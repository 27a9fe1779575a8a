/** Replaces every page if the server does not know this browser, or no longer does. */

import { useState } from 'preact/hooks';
import type { Problem } from '../data/client.ts';
import { connect } from '../data/live.ts';

export function NoSession({ problem }: { problem: Problem }) {
  const [busy, setBusy] = useState(false);
  const isOver = problem.status === 401;
  async function again(): Promise<void> {
    setBusy(true);
    await connect();
    setBusy(false);
  }
  return (
    <main class="alone">
      <h1>{isOver ? 'You are not signed in here' : 'The dashboard cannot be shown'}</h1>
      <p role="alert">{problem.message}</p>
      {isOver && (
        <p>
          A link works once, and a session ends after some hours or with its program. Run{' '}
          <code>longshore dashboard</code> (or <code>longshore dev</code>) again and open the link that it
          prints. Where the dashboard is part of an application, sign in there.
        </p>
      )}
      <button type="button" class="primary" disabled={busy} onClick={() => void again()}>
        Try again
      </button>
    </main>
  );
}
