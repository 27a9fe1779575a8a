/** `longshore/otel`: spans and metrics of OpenTelemetry. It needs the package `@opentelemetry/api`. */

export { type FlushingOptions, flushing } from './flush.ts';
export { type Telemetry, type TelemetryOptions, telemetry } from './telemetry.ts';
