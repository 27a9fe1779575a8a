/** A Deployment of workers with probes, and a KEDA scaler that reads the length of the queue from the backend itself. */

import type { Choices } from './choices.ts';
import type { Project } from './project.ts';
import { longshoreOf, metricsPort, stopSeconds, variablesOf, workerOf } from './settings.ts';
import type { NewFile } from './write.ts';

export function kubernetesFile(project: Project, choices: Choices): NewFile {
  const { name } = project;
  const literals = variablesOf(choices).map((one) => `#     --from-literal=${one.name}='${one.example}' \\`);
  const worker = [...workerOf(project), '--metrics-host', '0.0.0.0'];
  return {
    path: 'deploy/kubernetes.yaml',
    text: `# The settings are a secret. The second key protects /metrics; the probes need none.
#   kubectl create secret generic ${name} \\
${literals.join('\n')}
#     --from-literal=LONGSHORE_SIGNING_KEYS="$(npx longshore keys new)" \\
#     --from-literal=LONGSHORE_METRICS_KEY="$(openssl rand -hex 32)"
apiVersion: apps/v1
kind: Deployment
metadata: { name: ${name}-worker }
spec:
  selector: { matchLabels: { app: ${name}-worker } }
  strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }
  template:
    metadata: { labels: { app: ${name}-worker } }
    spec:
      terminationGracePeriodSeconds: ${stopSeconds} # longer than a drain takes
      securityContext: { runAsNonRoot: true, runAsUser: 1000, runAsGroup: 1000 }
      initContainers:
        - name: migrate # under a lock, so pods may start together
          image: ${name}:latest
          command: ${JSON.stringify([...longshoreOf(project), 'migrate'])}
          envFrom: [{ secretRef: { name: ${name} } }]
      containers:
        - name: worker
          image: ${name}:latest
          command: ${JSON.stringify(worker)}
          envFrom: [{ secretRef: { name: ${name} } }]
          ports: [{ name: metrics, containerPort: ${metricsPort} }]
          startupProbe: { httpGet: { path: /healthz, port: metrics }, periodSeconds: 2, failureThreshold: 30 }
          readinessProbe: { httpGet: { path: /healthz, port: metrics }, periodSeconds: 10, timeoutSeconds: 3 }
          # A handler that blocks the event loop for a minute is restarted.
          livenessProbe: { httpGet: { path: /healthz, port: metrics }, periodSeconds: 10, timeoutSeconds: 3, failureThreshold: 6 }
          resources: { requests: { cpu: 100m, memory: 128Mi }, limits: { memory: 512Mi } }
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
---
# Needs KEDA (https://keda.sh). Without it, remove this and add \`replicas\` above.
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: { name: ${name}-worker }
spec:
  scaleTargetRef: { name: ${name}-worker }
  minReplicaCount: 1
  maxReplicaCount: 10
  triggers:
${triggers[choices.backend]}`,
  };
}

/** A worker has 10 slots. One pod more for each 20 jobs that wait or run, in the queue \`default\`. */
const triggers: Readonly<Record<Choices['backend'], string>> = {
  sqlite: '', // not on this platform
  postgres: `    - type: postgresql
      metadata:
        connectionFromEnv: DATABASE_URL
        query: SELECT coalesce(sum(ready + leased), 0)::int FROM longshore.stats(NULL, NULL) WHERE NOT paused
        targetQueryValue: "20"
`,
  redis: `    # The sorted set of the jobs that wait; one trigger per queue.
    - type: redis
      metadata:
        address: redis.example.com:6379
        listName: longshore:{default}:ready
        listLength: "20"
`,
  beanstalkd: `    # One trigger per queue.
    - type: beanstalkd
      metadata:
        server: beanstalkd.example.com:11300
        tube: default
        value: "20"
`,
  sqs: `    # One trigger per queue, with a TriggerAuthentication for your account.
    - type: aws-sqs-queue
      metadata:
        queueURL: https://sqs.eu-central-1.amazonaws.com/123456789012/shop-default
        awsRegion: eu-central-1
        queueLength: "20"
`,
  servicebus: `    # One trigger per queue. The connection needs the right Manage.
    - type: azure-servicebus
      metadata:
        connectionFromEnv: SERVICEBUS_CONNECTION
        queueName: default
        messageCount: "20"
`,
};
