/** The frame of every page: navigation, head, notices. */

import { useEffect, useRef, useState } from 'preact/hooks';
import { refusal, session } from '../data/client.ts';
import { onKeys } from '../data/keys.ts';
import { go, linkTo, useRoute } from '../data/route.ts';
import { useStore } from '../data/store.ts';
import { switchTheme, theme } from '../data/theme.ts';
import { navigationOf, pages } from '../pages/table.tsx';
import { ConnectionState } from './connection.tsx';
import { Keys } from './keys.tsx';
import { NoSession } from './no-session.tsx';
import { Notices } from './notices.tsx';

export function Frame() {
  const problem = useStore(refusal);
  const own = useStore(session);
  if (problem !== null) return <NoSession problem={problem} />;
  if (own === null) return <p class="waiting">Loading…</p>;
  return <Signed />;
}

function Signed() {
  const { path, query } = useRoute();
  const [keysShown, showKeys] = useState(false);
  const [menuOpen, openMenu] = useState(false);
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const own = useStore(session)!;
  const found = pages.find((page) => page.path === (path[0] ?? '')) ?? null;
  const nav = navigationOf(own);
  const address = path.join('/');

  useEffect(
    () =>
      onKeys({
        '?': () => showKeys(true),
        '/': () => {
          const field = document.querySelector<HTMLInputElement>('main input[type=search]');
          if (field) field.focus();
          else go(linkTo(['jobs'], { search: 1 }));
        },
        ...Object.fromEntries(
          nav.flatMap(({ key, path: to }) => (key ? [[`g ${key}`, () => go(linkTo([to]))]] : [])),
        ),
      }),
    [own],
  );
  useEffect(() => {
    openMenu(false);
    document.title = `${found?.title ?? 'Nothing here'} · Longshore`;
    // Makes a screen reader read the new page; at the start it does so anyway.
    if (!first.current) (main.current?.querySelector('h1') ?? main.current)?.focus();
    first.current = false;
  }, [address]);

  return (
    <div class="frame">
      <header class="top">
        <a
          class="skip"
          href={`#/${address}`}
          onClick={(event) => {
            event.preventDefault();
            main.current?.focus();
          }}
        >
          Skip to the page
        </a>
        <button
          type="button"
          class="quiet menu"
          aria-expanded={menuOpen}
          aria-controls="navigation"
          onClick={() => openMenu(!menuOpen)}
        >
          Menu
        </button>
        <a class="brand" href={linkTo([])}>
          Longshore
        </a>
        <span class="backend" title={own.backend}>
          {own.backend}
        </span>
        <ConnectionState />
        <span class="who" title={`You act as ${own.actor}`}>
          {own.role === 'reader' ? `${own.actor}, read only` : own.actor}
        </span>
        <ThemeSwitch />
        <button type="button" class="quiet" aria-label="Keys" onClick={() => showKeys(true)}>
          ?
        </button>
      </header>
      <nav id="navigation" class={menuOpen ? 'nav open' : 'nav'} aria-label="Pages">
        <ul>
          {nav.map(({ path: to, title }) => (
            <li key={to}>
              <a href={linkTo([to])} aria-current={to === (found?.from ?? found?.path) ? 'page' : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main ref={main} tabIndex={-1} key={address}>
        {found === null ? (
          <h1>Nothing is at this address.</h1>
        ) : (
          <found.View path={path.slice(1)} query={query} />
        )}
      </main>
      <Notices />
      {keysShown && <Keys onClose={() => showKeys(false)} />}
    </div>
  );
}

function ThemeSwitch() {
  const other = useStore(theme) === 'dark' ? 'light' : 'dark';
  return (
    <button type="button" class="quiet" aria-label={`Show it ${other}`} onClick={switchTheme}>
      {other === 'dark' ? '☾' : '☀'}
    </button>
  );
}
