/**
 * When a server that owes an answer is one that is away. Time alone does not tell: a process that was busy or frozen finds its
 * timers due before it has read, or even sent, anything. So ticks of a timer are counted, and one that was kept from ticking
 * does not tick twice afterwards.
 */

const ticksOfSilence = 4;

/**
 * @param silenceMs what is waited for so long, or up to a quarter longer, is late
 * @param look called at each tick: what has been waited for since a tick before `lateBefore` is late. Returns whether to go on ticking
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
    /** Of now. */
    get tick(): number {
      return tick;
    },
    /** Ticks from now on, if it does not yet. */
    start(): void {
      timer ??= setInterval(next, silenceMs / ticksOfSilence).unref();
    },
    stop,
  };
}
