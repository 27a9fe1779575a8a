/**
 * Detects a server that does not answer. Time alone is not enough: after a process was busy or frozen, its timers are due before it has
 * read or sent anything. So this counts ticks of a timer, which does not catch up on missed ticks.
 */

const ticksOfSilence = 4;

/**
 * @param silenceMs an answer is late after this time, or up to a quarter more
 * @param look called at each tick; a wait that began at a tick before `lateBefore` is late. Returns whether to continue
 */
export function createWatch(silenceMs: number, look: (lateBefore: number) => boolean) {
  let tick = 0;
  let timer: NodeJS.Timeout | null = null;

  function stop(): void {
    if (timer) clearInterval(timer);
    timer = null;
  }
  function next(): void {
    tick++;
    if (!look(tick - ticksOfSilence)) stop();
  }
  return {
    /** The current tick. */
    get tick(): number {
      return tick;
    },
    /** Starts the ticks, if they are not running. */
    start(): void {
      timer ??= setInterval(next, silenceMs / ticksOfSilence).unref();
    },
    stop,
  };
}
