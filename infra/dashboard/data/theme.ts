/** Dark or light: as the system has it, or as somebody chose here. */

import { createStore } from './store.ts';

export type Theme = 'dark' | 'light';

const name = 'longshore-theme';
const system = matchMedia('(prefers-color-scheme: dark)');

/** A browser may refuse to keep anything. */
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
