export { hint, nearest } from '../../../core/base/nearest.ts';
