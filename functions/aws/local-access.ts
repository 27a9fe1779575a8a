/** For emulators, which take any credentials. The SDK must not even look for real ones. */
export const localAccess = {
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
} as const;
