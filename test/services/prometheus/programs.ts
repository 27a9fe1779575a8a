import { findProgram, need } from '../../kit/servers/programs.ts';

/** Both come with the one package. */
export const findPrometheus = (): string | null => findProgram('promtool') && findProgram('prometheus');

export const promtool = (): string => need('promtool', findProgram('promtool'), 'prometheus');
export const prometheus = (): string => need('prometheus', findProgram('prometheus'), 'prometheus');
