import { findProgram } from '../../kit/servers/programs.ts';

/** `CHROMIUM_PATH`, or the one of the system. */
export const findChromium = (): string | null =>
  process.env.CHROMIUM_PATH ?? findProgram('chromium', 'chromium-browser', 'google-chrome-stable');
