/** Dark or light: the system's setting, or the user's choice. */

import { createStore } from './store.ts';

export type Theme = 'dark' | 'light';

const name = 'longshore-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

/** A browser may refuse to store anything. */
function kept(): Theme | null {
  try {
    const value = localStorage.getItem(name);
    return value === 'dark' || value === 'light' ? value : null;
  } catch {
    return null;
  }
}

const wanted = (): Theme => kept() ?? (system.matches ? 'dark' : 'light');

export const theme = createStore<Theme>('light');

function apply(): void {
  document.documentElement.dataset.theme = wanted();
  theme.set(wanted());
}

export function followTheme(): void {
  apply();
  system.addEventListener('change', apply);
}

export function switchTheme(): void {
  try {
    localStorage.setItem(name, theme.get() === 'dark' ? 'light' : 'dark');
  } catch {
    return;
  }
  apply();
}
