/** Keyboard shortcuts. They do not apply in fields and dialogs. */

const handlers: Readonly<Record<string, () => void>>[] = [];

export function onKeys(keys: Readonly<Record<string, () => void>>): () => void {
  handlers.push(keys);
  return () => {
    handlers.splice(handlers.indexOf(keys), 1);
  };
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof Element && target.closest('input, textarea, select, dialog') !== null;

/** A letter after `g` has its own meaning. */
let afterG = false;

export function listenForKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key, target } = event;
    if (key === 'Escape' && target instanceof HTMLElement && target.matches('input[type=search]'))
      target.blur();
    if (isTyping(target)) return;
    // A scrolling box uses the arrow keys itself.
    if (key.startsWith('Arrow') && target instanceof Element && target.closest('.long')) return;
    const name = afterG ? `g ${key}` : key;
    afterG = key === 'g' && !afterG;
    for (const keys of [...handlers].reverse()) {
      const run = Object.hasOwn(keys, name) ? keys[name] : undefined;
      if (run === undefined) continue;
      event.preventDefault();
      run();
      return;
    }
  });
}
