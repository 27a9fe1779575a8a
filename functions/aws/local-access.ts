/** An emulator asks for none and takes any: real ones must not even be looked for. */
export const localAccess = {
  region: 'us-east-1',
  credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
} as const;
