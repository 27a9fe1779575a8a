/** Endpoints on this machine: LocalStack, ElasticMQ and their like. */

export function isOnThisMachine(url: string): boolean {
  const hostname = URL.parse(url)?.hostname ?? '';
  // LocalStack calls itself localhost.localstack.cloud, a name for 127.0.0.1.
  const names = ['localhost', 'localhost.localstack.cloud'];
  return names.some((name) => hostname === name || hostname.endsWith(`.${name}`)) || loopback.test(hostname);
}

const loopback = /^(127(\.\d{1,3}){3}|\[::1\])$/;
