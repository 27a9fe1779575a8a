/** Defaults that all backends of this folder share. */
export const backendDefaults = {
  /** One priority level weighs as much as one hour of waiting. */
  ageingMs: 3_600_000,
  /** As much as the largest managed queue takes, so that a job that runs here also runs there. */
  maxBodyBytes: 1_048_576,
  retention: { completedMs: 7 * 86_400_000, deadMs: 90 * 86_400_000 },
} as const;
